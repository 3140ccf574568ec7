//! What is known of the JVM that was recorded and of the recording itself.

use serde::{Deserialize, Serialize};

/// Everything the recorder was told; what it was not told is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Wall clock of the recording's start, nanoseconds since 1970. All other times count from
    /// this moment.
    pub started: u64,
    /// Wall clock of the JVM's start, nanoseconds since 1970.
    pub jvm_started: Option<u64>,
    /// The process that was recorded.
    pub pid: Option<u32>,
    /// E.g. `17.0.12+7`.
    pub version: String,
    /// E.g. `OpenJDK 64-Bit Server VM`.
    pub vm: String,
    /// Who built the JVM.
    pub vendor: String,
    /// E.g. `G1`.
    pub collector: String,
    /// The main class or jar and the program's arguments.
    pub command_line: String,
    /// Flags that are not at their default, with their values.
    pub flags: Vec<(String, String)>,
    /// Processors that the JVM could use.
    pub cores: Option<u32>,
    /// The largest heap that the JVM would have, in bytes.
    pub max_heap: Option<u64>,
    /// How the recording was asked for, by option.
    pub options: Vec<(String, String)>,
    /// What this JVM or this way of attaching could not deliver, a sentence each.
    pub missing: Vec<String>,
}
