//! The dated table of prices, and what a message cost.
//!
//! Whole numbers: a price is picodollars per token, so that sums are exact and don't depend on the
//! order of adding. A model that is not in the table has no cost, never a guessed one.

use std::collections::HashMap;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Sub};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use perennial_core::time::Time;
use serde::Deserialize;

use super::step::{Tokens, Usage};
use crate::harness::vendors::DIALECTS;

/// What the vendors ask for inference in one region only, in percent.
const REGIONAL_PERCENT: u64 = 110;

/// Picodollars: a millionth of a millionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost(u128);

impl Cost {
    pub fn microdollars(self) -> u64 {
        u64::try_from(self.0 / 1_000_000).unwrap_or(u64::MAX)
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost(self.0 + other.0)
    }
}

impl Sub for Cost {
    type Output = Cost;

    fn sub(self, other: Cost) -> Cost {
        Cost(self.0 - other.0)
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(costs: I) -> Cost {
        costs.fold(Cost::default(), Add::add)
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = self.0.div_ceil(10_000_000_000);
        write!(f, "${}.{:02}", cents / 100, cents % 100)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PricesError {
    #[error("the table of prices cannot be read")]
    Unreadable(#[from] toml::de::Error),
    #[error("`{text}` of the table of prices is no date")]
    NoDate { text: String, source: jiff::Error },
    #[error("{dollars} is no price for {model}")]
    NoPrice { model: String, dollars: f64 },
}

#[derive(Debug, Clone)]
pub struct Prices {
    /// Per model, the latest first.
    rows: HashMap<String, Vec<Row>>,
}

#[derive(Debug, Clone)]
struct Row {
    from: Option<Time>,
    usual: Rates,
    fast: Option<Rates>,
    above: Option<(u64, Rates)>,
    web_search: u64,
}

/// Picodollars per token.
#[derive(Debug, Clone, Copy)]
struct Rates {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
}

impl Prices {
    /// The table that is compiled in.
    pub fn built_in() -> Prices {
        Prices::parse(include_str!("prices.toml")).expect("a test reads the built-in table")
    }

    pub fn parse(text: &str) -> Result<Prices, PricesError> {
        let table: table::Table = toml::from_str(text)?;
        let mut rows: HashMap<String, Vec<Row>> = HashMap::new();
        for price in &table.price {
            let row = price.row()?;
            for model in &price.models {
                rows.entry(model.clone()).or_default().push(row.clone());
            }
        }
        for rows in rows.values_mut() {
            rows.sort_by_key(|row| std::cmp::Reverse(row.from));
        }
        Ok(Prices { rows })
    }

    /// What a message cost on its day; `None` if the table does not say. A message without a
    /// time is priced as of today, by the latest row.
    pub fn cost(&self, usage: &Usage, time: Option<Time>) -> Option<Cost> {
        let rows = self.rows(&usage.model)?;
        let row = rows.iter().find(|row| time.is_none() || row.from <= time)?;
        let usual = match row.above {
            Some((prompt_tokens, rates)) if usage.tokens.context() > prompt_tokens => rates,
            Some(_) | None => row.usual,
        };
        let rates = if usage.fast { row.fast? } else { usual };
        let percent = if usage.regional { REGIONAL_PERCENT } else { 100 };
        let searches = u128::from(usage.web_searches) * u128::from(row.web_search);
        Some(Cost(rates.cost(&usage.tokens) * u128::from(percent) / 100 + searches))
    }

    /// By the name as it was written, or without what the model's vendor and clouds add to it. Which
    /// vendor's model it is does not follow from the CLI that ran it, so all are asked.
    fn rows(&self, model: &str) -> Option<&[Row]> {
        let plain = || DIALECTS.iter().find_map(|one| self.rows.get(one.model_name(model)));
        self.rows.get(model).or_else(plain).map(Vec::as_slice)
    }
}

impl Rates {
    fn cost(&self, tokens: &Tokens) -> u128 {
        [
            (tokens.input, self.input),
            (tokens.output, self.output),
            (tokens.cache_read, self.cache_read),
            (tokens.cache_write_short, self.cache_write_5m),
            (tokens.cache_write_long, self.cache_write_1h),
        ]
        .into_iter()
        .map(|(count, rate)| u128::from(count) * u128::from(rate))
        .sum()
    }
}

/// The table as it is written.
mod table {
    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Table {
        pub price: Vec<Price>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Price {
        pub models: Vec<String>,
        from: Option<String>,
        usual: Dollars,
        fast: Option<Dollars>,
        above: Option<Above>,
        #[serde(default)]
        web_search: f64,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Above {
        prompt_tokens: u64,
        prices: Dollars,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Dollars {
        input: f64,
        output: f64,
        cache_read: f64,
        cache_write_5m: f64,
        cache_write_1h: f64,
    }

    impl Price {
        pub fn row(&self) -> Result<Row, PricesError> {
            let above = |above: &Above| {
                Ok::<_, PricesError>((above.prompt_tokens, self.rates(&above.prices)?))
            };
            Ok(Row {
                from: self.from.as_deref().map(day).transpose()?,
                usual: self.rates(&self.usual)?,
                fast: self.fast.as_ref().map(|dollars| self.rates(dollars)).transpose()?,
                above: self.above.as_ref().map(above).transpose()?,
                // Per search, not per million of them.
                web_search: self.picodollars(self.web_search)? * 1_000_000,
            })
        }

        fn rates(&self, dollars: &Dollars) -> Result<Rates, PricesError> {
            Ok(Rates {
                input: self.picodollars(dollars.input)?,
                output: self.picodollars(dollars.output)?,
                cache_read: self.picodollars(dollars.cache_read)?,
                cache_write_5m: self.picodollars(dollars.cache_write_5m)?,
                cache_write_1h: self.picodollars(dollars.cache_write_1h)?,
            })
        }

        /// Dollars per million are microdollars each.
        fn picodollars(&self, dollars: f64) -> Result<u64, PricesError> {
            if !(0.0..=1e6).contains(&dollars) {
                return Err(PricesError::NoPrice { model: self.models.join(", "), dollars });
            }
            Ok((dollars * 1e6).round() as u64)
        }
    }

    fn day(text: &str) -> Result<Time, PricesError> {
        let no_date = |source| PricesError::NoDate { text: text.to_owned(), source };
        let date: Date = text.parse().map_err(no_date)?;
        let start = date.to_zoned(TimeZone::UTC).map_err(no_date)?.timestamp().as_microsecond();
        Ok(Time(u64::try_from(start).unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(model: &str, tokens: Tokens) -> Usage {
        Usage { model: model.to_owned(), tokens, ..Usage::default() }
    }

    fn tokens(input: u64, output: u64, cache_read: u64, cache_write_short: u64) -> Tokens {
        Tokens { input, output, cache_read, cache_write_short, cache_write_long: 0 }
    }

    /// Figures that the real CLI showed for its own runs.
    #[test]
    fn costs_are_those_of_the_vendor() {
        let prices = Prices::built_in();
        for (tokens, microdollars) in [
            (tokens(2010, 50, 14_100, 0), 11_860),
            (tokens(30, 85, 51_200, 3_500), 29_560),
            (tokens(1_200, 8, 15_000, 3_000), 22_960),
        ] {
            let cost = prices.cost(&usage("claude-opus-5-5", tokens), None).expect("it is listed");
            assert_eq!(cost.microdollars(), microdollars);
        }
        assert_eq!(prices.cost(&usage("gpt-6", Tokens::default()), None), None);
    }

    #[test]
    fn a_model_is_priced_alike_in_every_cloud() {
        let prices = Prices::built_in();
        let cost = |model: &str| prices.cost(&usage(model, tokens(1_000_000, 0, 0, 0)), None);
        let usual = cost("claude-sonnet-4-5").expect("it is listed");
        for name in ["claude-sonnet-4-5@20250929", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"] {
            assert_eq!(cost(name), Some(usual), "{name}");
        }
        assert_eq!(cost("claude-sonnet-4-5-of-tomorrow"), None);
    }

    #[test]
    fn dear_circumstances_cost_more() {
        let prices = Prices::built_in();
        let base = usage("claude-opus-5-5", tokens(1_000_000, 0, 0, 0));
        let cost = |usage: &Usage| prices.cost(usage, None).map(Cost::microdollars);
        assert_eq!(cost(&base), Some(4_000_000));
        assert_eq!(cost(&Usage { fast: true, ..base.clone() }), Some(8_000_000));
        assert_eq!(cost(&Usage { regional: true, ..base.clone() }), Some(4_400_000));
        assert_eq!(cost(&Usage { web_searches: 3, ..base }), Some(4_030_000));
        let small = usage("claude-haiku-5-5", tokens(100_000, 0, 0, 0));
        let large = usage("claude-haiku-5-5", tokens(100_001, 0, 0, 0));
        assert_eq!((cost(&small), cost(&large)), (Some(10_000), Some(50_000)));
        // A speed that the table has no price for.
        assert_eq!(cost(&Usage { fast: true, ..small }), None);
    }

    #[test]
    fn the_day_decides() {
        let row = |from: &str, input: &str| {
            format!(
                "[[price]]\nmodels = [\"m\"]\n{from}\nusual = {{ input = {input}, output = 1.0, \
                 cache_write_5m = 1.0, cache_write_1h = 1.0, cache_read = 1.0 }}\n"
            )
        };
        let table = row("", "1.0") + &row("from = \"2026-11-01\"", "2.0");
        let prices = Prices::parse(&table).expect("a table");
        let cost = |day: Option<&str>| {
            let time = day.map(|day| {
                let time: jiff::Timestamp = day.parse().expect("a time");
                Time(time.as_microsecond() as u64)
            });
            let usage = usage("m", tokens(1_000_000, 0, 0, 0));
            prices.cost(&usage, time).expect("a price").microdollars()
        };
        assert_eq!(cost(Some("2026-10-31T23:59:59Z")), 1_000_000);
        assert_eq!(cost(Some("2026-11-01T00:00:00Z")), 2_000_000);
        assert_eq!(cost(None), 2_000_000);
        assert!(Prices::parse(&row("from = \"soon\"", "1.0")).is_err());
        assert!(Prices::parse(&row("", "-1.0")).is_err());
    }
}
