//! The dump that the JVM writes by itself at its first `OutOfMemoryError`, before anybody hears of the error: two flags that may be
//! changed while it runs. The agent takes no part in it, because at that moment nothing can be allocated in the heap.

use crate::jni::{Argument, Handle, Jni, Member};

const WHETHER: &str = "HeapDumpOnOutOfMemoryError";
const PATH: &str = "HeapDumpPath";

/// The flags as this agent sets them. Everything that setting them back needs is made before, for the heap may be full by then.
pub(crate) struct Exhaustion {
    class: Handle,
    set_flag: Member,
    set_text: Member,
    whether: Handle,
    path: Handle,
    /// To the JVM the same as no path.
    no_path: Handle,
}

impl Exhaustion {
    /// Has the JVM write its dump there.
    pub(crate) fn prepare(jni: Jni, path: &str) -> Result<Exhaustion, String> {
        jni.in_frame(|| {
            let class = jni.find_class(c"com/sun/management/internal/Flag")?;
            let set_flag =
                jni.static_method(class, c"setBooleanValue", c"(Ljava/lang/String;Z)V")?;
            let signature = c"(Ljava/lang/String;Ljava/lang/String;)V";
            let set_text = jni.static_method(class, c"setStringValue", signature)?;
            let [whether, path_name, no_path] = [
                jni.new_string(WHETHER)?,
                jni.new_string(PATH)?,
                jni.new_string("")?,
            ];
            let path = jni.new_string(path)?;
            let exhaustion = Exhaustion {
                class: jni.new_global(class),
                set_flag,
                set_text,
                whether: jni.new_global(whether),
                path: jni.new_global(path_name),
                no_path: jni.new_global(no_path),
            };
            match exhaustion.set(jni, path, true) {
                Ok(()) => Ok(exhaustion),
                Err(why) => {
                    exhaustion.take_back(jni);
                    Err(why)
                }
            }
        })
    }

    /// Sets the flags as they were.
    pub(crate) fn take_back(self, jni: Jni) {
        // What could not be set had not been set.
        let _ = self.set(jni, self.no_path, false);
        for handle in [self.class, self.whether, self.path, self.no_path] {
            jni.delete_global(handle);
        }
    }

    fn set(&self, jni: Jni, path: Handle, whether: bool) -> Result<(), String> {
        let text = [Argument::object(self.path), Argument::object(path)];
        jni.call_static_void(self.class, self.set_text, &text)?;
        let flag = [Argument::object(self.whether), Argument::flag(whether)];
        jni.call_static_void(self.class, self.set_flag, &flag)
    }
}
