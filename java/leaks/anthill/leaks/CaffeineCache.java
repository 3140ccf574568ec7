package anthill.leaks;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.LoadingCache;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Profiles are loaded through a Caffeine cache that was meant to be small: nobody set its maximum
 * size. The application object is a local variable of main.
 */
final class CaffeineCache {
    private CaffeineCache() {}

    public static void main(String[] args) throws Exception {
        StoreApplication application = new StoreApplication();
        Leak.of("ProfileService loads every profile into a Caffeine cache without a maximum size or expiry")
                .culprit("anthill.leaks.ProfileService.profiles")
                .also(
                        "anthill.leaks.StoreApplication.profileService",
                        "com.github.benmanes.caffeine.cache.UnboundedLocalCache.data")
                .element(Profile.class)
                .run(args, application::handleLogin);
    }
}

final class StoreApplication {
    private final ProfileService profileService = new ProfileService();

    void handleLogin(int user) {
        Profile profile = profileService.find(Words.mail(user));
        if (!profile.mail.equals(Words.mail(user))) {
            throw new IllegalStateException(profile.mail);
        }
    }
}

final class ProfileService {
    private final LoadingCache<String, Profile> profiles = Caffeine.newBuilder().build(this::load);

    Profile find(String mail) {
        return profiles.get(mail);
    }

    private Profile load(String mail) {
        int number = mail.hashCode() & 0xffff;
        Profile profile = new Profile(mail, Words.name(number), Words.city(number));
        for (String setting : new String[] {"language", "currency", "newsletter", "size", "payment", "theme"}) {
            profile.settings.put(setting, Words.text(number, 60));
        }
        return profile;
    }
}

final class Profile {
    final String mail;
    final String name;
    final String city;
    final Map<String, String> settings = new LinkedHashMap<>();

    Profile(String mail, String name, String city) {
        this.mail = mail;
        this.name = name;
        this.city = city;
    }
}
