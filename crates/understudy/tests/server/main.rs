//! The server over its socket: what it says on the wire, what it chooses, how it fails on demand,
//! what it remembers. No client but a bare socket.

mod client;
mod every_wire;
mod failures;
mod gates;
mod gemini;
mod openai;
mod program;
mod scripts;
mod side;
mod wire;
