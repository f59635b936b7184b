//! Sessions in the words of a seed: those of the entity graph, and those that took work over. Their form is ours, or in the
//! graph HAAK's; roles and states have the seed's words.

use perennial_api::graph::GraphSession;
use perennial_api::handoffs::Handoffs;
use perennial_core::state::{Roster, State};
use perennial_core::vocabulary::{Condition, Vocabulary};

/// A session of the graph, with what belongs to it.
pub fn of_graph(vocabulary: Vocabulary, session: &mut GraphSession) {
    let known = |word: &str| State::ALL.into_iter().find(|state| state.word() == word);
    // The words of this daemon's own graph are all known.
    let state = known(&session.state).unwrap_or(State::Unknown);
    session.state = word(vocabulary, state);
    for one in &mut session.belongings {
        if one.quality == "state" {
            // The seed's `dead` is a session that is over, whatever its agent does now.
            let is_over = one.text.as_deref() == Some("dead");
            let shown =
                if is_over && state.roster() != Roster::Cemetery { State::Dead } else { state };
            one.text = Some(word(vocabulary, shown));
        }
        let role = one.entity.as_deref().and_then(|entity| entity.strip_prefix("role:"));
        if let Some(role) = role {
            one.entity = Some(format!("role:{}", vocabulary.role(role)));
        }
    }
}

/// The figures of sessions that took work over.
pub fn of_handoffs(vocabulary: Vocabulary, handoffs: &mut Handoffs) {
    let roles = handoffs.roles.iter_mut().map(|one| &mut one.role);
    for role in roles.chain(handoffs.sessions.iter_mut().map(|one| &mut one.role)).flatten() {
        *role = vocabulary.role(role).to_owned();
    }
}

/// The graph knows no reasons.
fn word(vocabulary: Vocabulary, state: State) -> String {
    let condition = Condition { state, reason: None, is_stale: false, is_merged: false };
    vocabulary.state(condition).state.to_owned()
}

#[cfg(test)]
mod tests {
    use perennial_api::graph::Belonging;
    use perennial_api::handoffs::{Handoff, RoleHandoffs};

    use super::*;

    fn belonging(quality: &str, entity: Option<&str>, text: Option<&str>) -> Belonging {
        Belonging {
            quality: quality.to_owned(),
            entity: entity.map(str::to_owned),
            text: text.map(str::to_owned),
            ..Belonging::default()
        }
    }

    /// Every state of the model has a word in the graph, in each vocabulary; HAAK's are the graph's own.
    #[test]
    fn every_state_of_a_session_is_told_in_each_vocabulary() {
        for (vocabulary, state) in
            Vocabulary::ALL.into_iter().flat_map(|one| State::ALL.map(|state| (one, state)))
        {
            let haak = word(Vocabulary::Haak, state);
            let method = belonging("method", Some("role:worker"), None);
            let mut session = GraphSession {
                state: state.word().to_owned(),
                belongings: vec![method, belonging("state", None, Some(&haak))],
                ..GraphSession::default()
            };
            of_graph(vocabulary, &mut session);
            assert!(vocabulary.states(&session.state).contains(&state), "{vocabulary:?} {state:?}");
            assert_eq!(session.belongings[1].text.as_deref(), Some(session.state.as_str()));
            let role = format!("role:{}", vocabulary.role("worker"));
            assert_eq!(session.belongings[0].entity.as_deref(), Some(role.as_str()));
        }
    }

    #[test]
    fn an_earlier_session_is_over_whatever_its_agent_does() {
        let belongings = vec![belonging("state", None, Some("dead"))];
        let state = State::Crashed.word().to_owned();
        let mut session = GraphSession { state, belongings, ..GraphSession::default() };
        of_graph(Vocabulary::Julian, &mut session);
        assert_eq!(session.state, "sleeping");
        assert_eq!(session.belongings[0].text.as_deref(), Some("expired"));
    }

    #[test]
    fn roles_of_handoffs_have_the_seeds_words() {
        let role = || Some("Patrol".to_owned());
        let mut told = Handoffs {
            roles: vec![RoleHandoffs { role: role(), ..RoleHandoffs::default() }],
            sessions: vec![Handoff { role: role(), ..Handoff::default() }, Handoff::default()],
            ..Handoffs::default()
        };
        of_handoffs(Vocabulary::GasTown, &mut told);
        assert_eq!(told.roles[0].role.as_deref(), Some("deacon"));
        assert_eq!(told.sessions[0].role.as_deref(), Some("deacon"));
        assert_eq!(told.sessions[1].role, None);
    }
}
