//! A corpus of transcripts as large as a busy month, and how long its figures take.
//!
//! `corpus` writes one into a temporary directory, measures, and removes it; `corpus write DIR`
//! and `corpus measure DIR` do the halves, so that other readers can be measured on the same
//! files (`DIR/projects/…` is laid out as Claude Code does it). Every line that it prints is JSON.
//! The same seed writes the same bytes.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use perennial_engine::harness::conversation::{self, TranscriptFile};
use perennial_engine::harness::{Preset, preset};
use perennial_engine::transcript::account::Account;
use perennial_engine::transcript::conversation::Conversation;
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::Tokens;
use perennial_engine::transcript::survey::Survey;
use perennial_engine::transcript::tail::Buffer;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const FILES: usize = 200;
const CORPUS_BYTES: usize = 296_000_000;
const GROWTH_BYTES: usize = 64 * 1024;
const ROUNDS: usize = 9;
const SEED: u64 = 7;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["write", directory] => write(Path::new(directory)),
        ["measure", directory] => measure(Path::new(directory)),
        [] => {
            let directory = tempfile::tempdir()?;
            write(directory.path())?;
            measure(directory.path())
        }
        _ => Err(io::Error::other("usage: corpus [write DIR | measure DIR]")),
    }
}

fn write(directory: &Path) -> io::Result<()> {
    let mut author = Author::new(SEED);
    for number in 0..FILES {
        let project = directory.join(format!("projects/-work-repo{}", number % 20));
        fs::create_dir_all(&project)?;
        author.conversation(&project, CORPUS_BYTES / FILES)?;
    }
    let truth = author.truth();
    fs::write(directory.join("truth.json"), truth.to_string())?;
    println!("{truth}");
    Ok(())
}

/// The preset whose vendor the corpus is laid out as.
fn preset() -> Preset {
    Preset::load(Path::new("/proc/none"), preset::usual()).expect("the built-in preset")
}

/// First readings, each from nothing; then looks after one file has grown; then one conversation
/// step by step.
fn measure(directory: &Path) -> io::Result<()> {
    let preset = preset();
    let files: Vec<TranscriptFile> = conversation::all(&preset, directory);
    let fresh = || {
        let mut survey = Survey::new(Prices::built_in());
        for file in &files {
            survey.add(preset.dialect, file.path.clone(), &file.conversation);
        }
        survey
    };
    let mut first = Samples::default();
    let mut survey = fresh();
    for _ in 0..ROUNDS {
        survey = fresh();
        first.time(|| survey.update());
    }
    let truth: Value = serde_json::from_slice(&fs::read(directory.join("truth.json"))?)?;
    let total = survey.account().total();
    let bytes: u64 =
        files.iter().filter_map(|file| file.path.metadata().ok()).map(|m| m.len()).sum();
    let is_exact = figures(&total.tokens) == truth["truth"] && !total.is_partial();
    first.print("first read", json!({ "files": files.len(), "bytes": bytes, "exact": is_exact }));

    // A copy grows, so that the corpus stays as it is.
    let directory = tempfile::tempdir()?;
    let grown = directory.path().join("grown.jsonl");
    fs::copy(&files[files.len() / 2].path, &grown)?;
    survey.add(preset.dialect, grown.clone(), "grown");
    survey.update();
    let (mut unchanged, mut update) = (Samples::default(), Samples::default());
    let mut author = Author::new(SEED + 1);
    for _ in 0..ROUNDS {
        unchanged.time(|| survey.update());
        author.turns(&mut OpenOptions::new().append(true).open(&grown)?, GROWTH_BYTES)?;
        update.time(|| survey.update());
    }
    unchanged.print("look at all files, nothing new", json!({}));
    let total = survey.account().total();
    let is_exact = !total.is_partial()
        && total.messages == truth["messages"].as_u64().unwrap_or(0) + author.messages;
    update.print("after 64 kB more in one file", json!({ "exact": is_exact }));

    let mut steps = Samples::default();
    let mut buffer = Buffer::default();
    for _ in 0..ROUNDS {
        let account = Account::new(Prices::built_in());
        let mut conversation = Conversation::new(preset.dialect, grown.clone(), account, 0);
        steps.time(|| conversation.update(&mut buffer, |_| {}));
    }
    let bytes = grown.metadata()?.len();
    steps.print("one conversation, step by step", json!({ "bytes": bytes }));
    Ok(())
}

fn figures(tokens: &Tokens) -> Value {
    json!({
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_creation_input_tokens": tokens.cache_write(),
        "cache_read_input_tokens": tokens.cache_read,
    })
}

/// Milliseconds of wall time and of processor time, all threads.
#[derive(Default)]
struct Samples(Vec<(f64, f64)>);

impl Samples {
    fn time<T>(&mut self, work: impl FnOnce() -> T) {
        let (started, cpu) = (Instant::now(), cpu_ms());
        let done = work();
        self.0.push((started.elapsed().as_secs_f64() * 1e3, cpu_ms() - cpu));
        drop(done);
    }

    fn print(&self, what: &str, mut also: Value) {
        let middle = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let wall: Vec<f64> = self.0.iter().map(|sample| sample.0).collect();
        also["what"] = json!(what);
        also["wall_ms_least"] = json!(wall.iter().copied().fold(f64::INFINITY, f64::min));
        also["wall_ms_p50"] = json!(middle(wall));
        also["cpu_ms_p50"] = json!(middle(self.0.iter().map(|sample| sample.1).collect()));
        println!("{also}");
    }
}

fn cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Writes lines in the shapes of version 2.1.325, and keeps the sums.
struct Author {
    state: u64,
    /// Words, code and quotes, of which every text is a piece.
    pool: String,
    common: String,
    parent: String,
    cache_read: u64,
    lines: u64,
    messages: u64,
    usage_lines: u64,
    bytes: u64,
    tokens: Tokens,
}

impl Author {
    fn new(seed: u64) -> Author {
        let mut author = Author {
            state: seed,
            pool: String::new(),
            common: r#""userType":"external""#.to_owned(),
            parent: "null".to_owned(),
            cache_read: 15_000,
            lines: 0,
            messages: 0,
            usage_lines: 0,
            bytes: 0,
            tokens: Tokens::default(),
        };
        let signs = ["fn", "let", "{", "}", "\n", "\n    ", "=>", "\"x\"", "\t", "error[E0308]:"];
        while author.pool.len() < 2_500_000 {
            if author.below(6) == 0 {
                let sign = author.below(signs.len());
                author.pool += signs[sign];
            } else {
                let letters = 2 + author.below(9);
                let word: String =
                    (0..letters).map(|_| char::from(b'a' + author.below(26) as u8)).collect();
                author.pool += &word;
            }
            author.pool.push(' ');
        }
        author
    }

    /// SplitMix64.
    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    fn uuid(&mut self) -> String {
        let hex = format!("{:016x}{:016x}", self.number(), self.number());
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    /// A JSON string of this many characters, quotes included.
    fn text(&mut self, length: usize) -> String {
        let start = self.below(self.pool.len() - length);
        json!(self.pool[start..start + length]).to_string()
    }

    fn line(&mut self, out: &mut impl Write, line: &str) -> io::Result<()> {
        self.lines += 1;
        self.bytes += line.len() as u64 + 1;
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")
    }

    /// A line of the tree, which the next one follows.
    fn node(&mut self, out: &mut impl Write, kind: &str, fields: &str) -> io::Result<()> {
        let (uuid, parent, common) = (self.uuid(), self.parent.clone(), self.common.clone());
        self.parent = format!("\"{uuid}\"");
        self.line(
            out,
            &format!(
                r#"{{"parentUuid":{parent},"isSidechain":false,{fields},"type":"{kind}","uuid":"{uuid}","timestamp":"2026-11-15T19:18:33.536Z",{common}}}"#
            ),
        )
    }

    fn conversation(&mut self, project: &Path, bytes_mean: usize) -> io::Result<()> {
        let id = self.uuid();
        let mut out =
            BufWriter::new(File::create(PathBuf::from(project).join(format!("{id}.jsonl")))?);
        self.common = format!(
            r#""userType":"external","entrypoint":"cli","cwd":"/home/u/repo","sessionId":"{id}","version":"2.1.325","gitBranch":"main""#
        );
        self.parent = "null".to_owned();
        self.cache_read = 15_000;
        self.line(&mut out, &format!(r#"{{"type":"queue-operation","operation":"enqueue","sessionId":"{id}","content":"do it"}}"#))?;
        let prompt = self.text(400);
        self.node(&mut out, "user", &format!(r#""message":{{"role":"user","content":{prompt}}}"#))?;
        for (kind, length) in
            [("environment", 800), ("skill_listing", 12_000), ("prompt_snapshot", 28_000)]
        {
            let (text, rendered) = (self.text(length), self.text(length / 8));
            let fields = format!(
                r#""attachment":{{"type":"{kind}","text":{text}}},"rendered":[{{"content":{rendered}}}]"#
            );
            self.node(&mut out, "attachment", &fields)?;
        }
        let shape = self.text(34_000);
        self.line(&mut out, &format!(r#"{{"type":"api-request-shape","sessionId":"{id}","shape":{{"system":[{{"type":"text","text":{shape}}}]}}}}"#))?;
        let share = [2, 5, 10, 10, 13, 20][self.below(6)];
        self.turns(&mut out, bytes_mean * share / 10)?;
        out.flush()
    }

    /// Answers with their tool calls and results, until there is so much.
    fn turns(&mut self, out: &mut impl Write, bytes: usize) -> io::Result<()> {
        let end = self.bytes + bytes as u64;
        while self.bytes < end {
            let reference = self.uuid();
            self.line(out, &format!(r#"{{"type":"api-request","id":"{reference}","params":{{"model":"claude-opus-5-5","max_tokens":128000}},"requestDigest":"{reference}{reference}"}}"#))?;
            let call = self.answer(out)?;
            let length = (1_000.0 * 20f64.powf(self.below(1_000) as f64 / 1e3)) as usize;
            let output = self.text(length);
            let fields = format!(
                r#""promptId":"{reference}","message":{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":{output},"is_error":false}}]}},"toolUseResult":{{"stdout":{output},"stderr":"","interrupted":false}}"#
            );
            self.node(out, "user", &fields)?;
            let leaf = self.parent.clone();
            self.line(
                out,
                &format!(r#"{{"type":"last-prompt","lastPrompt":"do it","leafUuid":{leaf}}}"#),
            )?;
        }
        Ok(())
    }

    /// One line per content block, all with the same usage; returns the tool call's id.
    fn answer(&mut self, out: &mut impl Write) -> io::Result<String> {
        let (message, call) = (self.uuid().replace('-', ""), self.uuid().replace('-', ""));
        let (input, output) = (1 + self.below(12) as u64, 20 + self.below(1_480) as u64);
        let (created, cache_read) = (200 + self.below(5_800) as u64, self.cache_read);
        self.cache_read = (cache_read + created).min(180_000);
        let usage = format!(
            r#"{{"input_tokens":{input},"cache_creation_input_tokens":{created},"cache_read_input_tokens":{cache_read},"output_tokens":{output},"output_tokens_details":{{"thinking_tokens":0}},"server_tool_use":{{"web_search_requests":0,"web_fetch_requests":0}},"service_tier":"standard","cache_creation":{{"ephemeral_1h_input_tokens":0,"ephemeral_5m_input_tokens":{created}}},"inference_geo":"","iterations":[],"speed":"standard"}}"#
        );
        let mut blocks = Vec::new();
        if self.below(10) < 4 {
            let (length, signature) = (100 + self.below(800), self.uuid().repeat(8));
            let thinking = self.text(length);
            blocks.push(format!(
                r#"{{"type":"thinking","thinking":{thinking},"signature":"{signature}"}}"#
            ));
        }
        if self.below(10) < 6 {
            let length = 50 + self.below(550);
            blocks.push(format!(r#"{{"type":"text","text":{}}}"#, self.text(length)));
        }
        let length = 20 + self.below(280);
        let command = self.text(length);
        blocks.push(format!(
            r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{{"command":{command}}}}}"#
        ));
        for block in blocks {
            let mut fields = String::new();
            let _ = write!(
                fields,
                r#""message":{{"id":"msg_{message}","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{block}],"stop_reason":"tool_use","stop_sequence":null,"usage":{usage}}},"requestId":"req_{message}","effort":"medium""#
            );
            self.node(out, "assistant", &fields)?;
            self.usage_lines += 1;
        }
        self.messages += 1;
        self.tokens.input += input;
        self.tokens.output += output;
        self.tokens.cache_read += cache_read;
        self.tokens.cache_write_short += created;
        Ok(call)
    }

    fn truth(&self) -> Value {
        json!({
            "files": FILES,
            "bytes": self.bytes,
            "lines": self.lines,
            "messages": self.messages,
            "usage_lines": self.usage_lines,
            "truth": figures(&self.tokens),
        })
    }
}
