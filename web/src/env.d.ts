/** The version of the program that the pages are part of. */
declare const __ANTHILL_VERSION__: string;
