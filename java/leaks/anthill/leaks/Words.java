package anthill.leaks;

/** Names and texts that look like an application's data; the same number gives the same words. */
final class Words {
    private static final String[] FIRST = {
        "Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Farah", "Gustav", "Hana", "Ines", "Jonas", "Kwame", "Leila"
    };
    private static final String[] LAST = {
        "Almeida", "Berger", "Castillo", "Dupont", "Eriksen", "Fischer", "Gruber", "Haddad", "Ivanova", "Jansen"
    };
    private static final String[] CITIES = {
        "Lisbon", "Vienna", "Bogota", "Lyon", "Oslo", "Hamburg", "Linz", "Beirut", "Sofia", "Utrecht", "Osaka"
    };
    private static final String[] WORDS = {
        "the", "delivery", "was", "confirmed", "by", "our", "warehouse", "and", "will", "arrive", "before", "noon",
        "please", "contact", "support", "if", "your", "order", "is", "late", "or", "damaged", "invoice", "attached"
    };

    private Words() {}

    static String name(int number) {
        return FIRST[number % FIRST.length] + " " + LAST[number / 7 % LAST.length] + " " + number;
    }

    static String mail(int number) {
        return (FIRST[number % FIRST.length] + "." + LAST[number / 7 % LAST.length]).toLowerCase() + number
                + "@example.org";
    }

    static String city(int number) {
        return CITIES[number % CITIES.length];
    }

    /** About {@code length} characters that begin with the number. */
    static String text(int number, int length) {
        StringBuilder text = new StringBuilder(length + 16).append('#').append(number);
        int word = number;
        while (text.length() < length) {
            text.append(' ').append(WORDS[word % WORDS.length]);
            word += 5 + word % 3;
        }
        return text.toString();
    }
}
