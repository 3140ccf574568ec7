package anthill.leaks;

import freemarker.cache.MruCacheStorage;
import freemarker.cache.StringTemplateLoader;
import freemarker.template.Configuration;
import freemarker.template.TemplateException;
import java.io.IOException;
import java.io.StringWriter;
import java.util.Map;

/**
 * Mails are FreeMarker templates that customers write. Each mail puts its template into the loader
 * under a name of its own, and nobody removes it.
 */
final class TemplateCache {
    private TemplateCache() {}

    public static void main(String[] args) throws Exception {
        MailRenderer renderer = new MailRenderer();
        Leak.of("every mail adds a template of its own name to the StringTemplateLoader")
                .culprit("freemarker.cache.StringTemplateLoader.templates")
                .also("anthill.leaks.MailRenderer.templates", "anthill.leaks.MailRenderer.configuration")
                .element("freemarker.cache.StringTemplateLoader$StringTemplateSource")
                .items(1_000)
                .run(args, number -> {
                    String body = "Dear ${name},\n" + Words.text(number, 1_500) + "\nYours, ${sender}";
                    renderer.render("mail-" + number, body, Map.of("name", Words.name(number), "sender", "Shop"));
                });
    }
}

final class MailRenderer {
    private final StringTemplateLoader templates = new StringTemplateLoader();
    private final Configuration configuration = new Configuration(Configuration.VERSION_2_3_34);

    MailRenderer() {
        configuration.setTemplateLoader(templates);
        configuration.setCacheStorage(new MruCacheStorage(20, 0));
        configuration.setLocalizedLookup(false);
    }

    String render(String name, String body, Map<String, ?> model) throws IOException, TemplateException {
        templates.putTemplate(name, body);
        StringWriter mail = new StringWriter();
        configuration.getTemplate(name).process(model, mail);
        return mail.toString();
    }
}
