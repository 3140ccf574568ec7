package anthill.leaks;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Honest data that every large application has and that does not grow: a lookup table (half of the
 * bytes), an array of numbers (a quarter), and a cache that is full (a quarter).
 */
final class Ballast {
    static final Map<String, Country> COUNTRIES = new HashMap<>();
    static final RecentCountries RECENT = new RecentCountries();
    static long[] populations = {};

    private static final int COUNTRY_BYTES = 1_100;
    private static final int KILOBYTE = 1_024;

    private Ballast() {}

    static final class Country {
        final String code;
        final String name;
        final List<String> cities = new ArrayList<>();
        final String description;

        Country(int number) {
            code = "C" + number;
            name = "Country of " + Words.name(number);
            for (int i = 0; i < 5; i++) {
                cities.add(Words.city(number + i) + " " + number);
            }
            description = Words.text(number, 400);
        }
    }

    /** The cache stays at its limit. */
    static final class RecentCountries extends LinkedHashMap<String, Country> {
        private static final long serialVersionUID = 1;

        private int most;

        RecentCountries() {
            super(16, 0.75f, true);
        }

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Country> eldest) {
            return size() > most;
        }
    }

    static void load(int megabytes) {
        int countries = (int) ((long) megabytes * KILOBYTE * KILOBYTE / COUNTRY_BYTES);
        for (int i = 0; i < countries / 2; i++) {
            Country country = new Country(i);
            COUNTRIES.put(country.code, country);
        }
        populations = new long[megabytes * KILOBYTE / 4 * KILOBYTE / Long.BYTES];
        for (int i = 0; i < populations.length; i++) {
            populations[i] = i * 7L;
        }
        RECENT.most = countries / 4;
        for (int i = 0; i < countries / 3; i++) {
            Country country = new Country(countries + i);
            RECENT.put(country.code, country);
        }
    }
}
