#!/bin/sh
# Makes the two homes of one version: make.sh PROGRAM VERSION
#
# PROGRAM is the built binary of that version, VERSION the name that the homes get here. Everything
# happens in namespaces of its own: another host name, another boot id, and a file system in memory on
# /tmp. Nothing of the machine that ran it is in the result. Needs root and util-linux.
set -eu

if [ "${INSIDE:-}" != yes ]; then
    program=$(realpath "$1") here=$(realpath "$(dirname "$0")")
    out=$(mktemp -d)
    cp "$program" "$out/perennial"
    cp "$0" "$out/make.sh"
    INSIDE=yes unshare --mount --uts --pid --fork --propagation private \
        sh "$out/make.sh" "$out" "$2"
    for kind in down killed; do
        rm -rf "$here/$2-$kind"
        cp -r "$out/$2-$kind" "$here/"
    done
    rm -rf "$out"
    exit
fi

out=$1 version=$2
mount -t proc proc /proc
hostname fleet
mkdir "$out/tmp" && mount -t tmpfs tmpfs "$out/tmp"
echo 00000000-0000-4000-8000-00000000b007 > "$out/tmp/boot"
mount --bind "$out/tmp/boot" /proc/sys/kernel/random/boot_id
mkdir "$out/tmp/kept" && mount --bind "$out" "$out/tmp/kept"
mount --move "$out/tmp" /tmp
out=/tmp/kept
mkdir -p /tmp/bin && cp "$out/perennial" /tmp/bin/

# In the place of an agent CLI: one turn with a tool call, then it waits for its next prompt.
cat > /tmp/bin/claude <<'CLAUDE'
#!/bin/sh
for word; do [ "${last:-}" = --session-id ] && id=$word; last=$word; done
[ -n "${id:-}" ] || exec sleep 1000000
mkdir -p "$HOME/.claude/projects/-tmp"
file=$HOME/.claude/projects/-tmp/$id.jsonl
echo '{"type":"user","uuid":"u1","message":{"role":"user","content":"Count the sheep."}}' > "$file"
echo '{"type":"assistant","uuid":"a1","requestId":"r1","message":{"id":"m1","model":"claude-opus-5-5","role":"assistant","content":[{"type":"text","text":"Eleven."}],"usage":{"input_tokens":520000,"output_tokens":7}}}' >> "$file"
tell() {
    echo "{\"session_id\":\"$id\",\"transcript_path\":\"$file\",\"cwd\":\"/tmp\",\"source\":\"startup\",\"tool_name\":\"Bash\"}" |
        perennial hook "$1" > /dev/null
}
tell SessionStart
tell UserPromptSubmit
tell PostToolUse
echo "{\"session_id\":\"$id\",\"transcript_path\":\"$file\",\"model\":{\"id\":\"claude-opus-5-5\"},\"context_window\":{\"context_window_size\":1000000,\"used_percentage\":52,\"current_usage\":{\"input_tokens\":520000,\"output_tokens\":7,\"cache_read_input_tokens\":0,\"cache_creation_input_tokens\":0}},\"cost\":{\"total_cost_usd\":0.25}}" |
    perennial statusline > /dev/null
case "${CLAUDE_ENDS_IN:-Stop}" in PermissionRequest) tell PermissionRequest ;; *) tell Stop ;; esac
exec sleep 1000000
CLAUDE
chmod 755 /tmp/bin/claude

perennial() { env -i PATH=/tmp/bin:/usr/bin:/bin HOME=/tmp LANG=C.UTF-8 PERENNIAL_HOME=/tmp/fleet \
    /tmp/bin/perennial "$@"; }
# Looks until the agent has moved so; a minute at most.
moved() {
    tries=0
    until perennial show "$1" --json | tr -d ' \n' | grep -q "\"state\":\"$2\".*\"reason\":\"$3\""; do
        tries=$((tries + 1)); [ $tries -lt 600 ] || { perennial show "$1"; exit 1; }
        sleep 0.1
    done
}

# What the old program says of the home, and the files that matter.
keep() {
    mkdir -p "$out/$version-$1"
    cp "/tmp/agents.json" "/tmp/events.jsonl" "$out/$version-$1/"
    for file in data/journal.db data/journal.db-wal; do
        [ ! -s "/tmp/fleet/$file" ] || cp "/tmp/fleet/$file" "$out/$version-$1/"
    done
    rm -rf /tmp/fleet /tmp/.claude
}
# The first versions have the dead in every list.
tell() {
    perennial ls --all --json > /tmp/agents.json 2> /dev/null || perennial ls --json > /tmp/agents.json
    perennial events --json > /tmp/events.jsonl
}

# 1. Everything in one home, ended in order: snapshots and samples are in it.
cd /tmp
perennial up > /dev/null
perennial spawn works -- sleep 1000000
perennial spawn once --restart never -- sleep 1000000
perennial spawn again --restart always --role keeper -- sleep 1000000
perennial spawn finished -- true
perennial spawn gone --restart never -- sh -c 'exit 4'
perennial spawn asleep -- sleep 1000000
perennial spawn breaks -- sh -c 'exit 3'
perennial spawn twin --env COLOUR=red -- sleep 1000000
perennial bury twin --summary 'the first of the name'
perennial spawn twin -- sleep 1000000
perennial spawn old-name -- sleep 1000000
perennial rename old-name new-name
perennial spawn idle --harness claude --prompt 'Count the sheep.'
perennial spawn asks --harness claude --env CLAUDE_ENDS_IN=PermissionRequest --prompt 'Count them again.'
perennial stop asleep
if perennial board --help > /dev/null 2>&1; then
    perennial board post 'release on Friday'
    perennial send asleep 'a text that waits'
    perennial send works 'a text that was typed'
fi
moved finished sleeping finished
moved gone sleeping crashed-restart-off
moved idle waiting idle
moved asks waiting needs-permission
moved breaks crashed breaker-open
perennial spawn retries -- sh -c 'exit 5'
moved retries crashed retrying
tell
perennial down > /dev/null
keep down

# 2. Killed: no snapshot, and the newest records are in the write-ahead log only.
perennial up > /dev/null
perennial spawn works -- sleep 1000000
perennial spawn asleep -- sleep 1000000
perennial stop asleep
perennial rename works renamed
moved asleep sleeping stopped
tell
pid=$(perennial doctor --json | tr -d ' \n' | sed 's/.*"pid":\([0-9]*\).*/\1/')
kill -9 "$pid"
while kill -0 "$pid" 2> /dev/null; do sleep 0.1; done
keep killed
