//! Whose code a class is, by its name: the platform's, a language's own library's, or the program's.

/// Packages whose classes come with the JVM, or with Android.
const PLATFORM: [&str; 10] = [
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "android.",
    "com.android.",
    "dalvik.",
    "libcore.",
    "org.apache.harmony.",
];

/// Packages that come with a language, whose collections and builders allocate for the program.
const LANGUAGES: [&str; 4] = ["kotlin.", "scala.", "groovy.lang.", "clojure.lang."];

/// Whether a class, in Java notation, comes with the JVM.
pub fn is_platform_name(class: &str) -> bool {
    PLATFORM.iter().any(|package| class.starts_with(package))
}

/// Whether a class is neither the platform's nor a language's.
pub(crate) fn is_program_name(class: &str) -> bool {
    let is_language_s = LANGUAGES.iter().any(|package| class.starts_with(package));
    !is_platform_name(class) && !is_language_s
}
