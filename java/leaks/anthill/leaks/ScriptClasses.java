package anthill.leaks;

import groovy.lang.Binding;
import groovy.lang.GroovyShell;

/** Rules are Groovy scripts. Each evaluation compiles a class, and the shell's class loader keeps them all. */
final class ScriptClasses {
    private ScriptClasses() {}

    public static void main(String[] args) throws Exception {
        Leak.of("every evaluated rule is a new class that the GroovyClassLoader caches")
                .culprit("groovy.lang.GroovyClassLoader.classCache")
                .also("anthill.leaks.DiscountRules.shell", "anthill.leaks.DiscountRules.rules")
                .element("groovy.lang.GroovyClassLoader$InnerLoader")
                .items(40)
                .run(args, DiscountRules::discount);
    }
}

final class DiscountRules {
    private static final DiscountRules rules = new DiscountRules();

    private final GroovyShell shell = new GroovyShell(new Binding());

    static Object discount(int customer) {
        String rule = "def limit = " + (100 + customer) + "\n"
                + "def names = ['gold', 'silver', 'bronze'].findAll { it.size() > 3 }\n"
                + "def steps = [10: 0.1, 20: 0.2, " + customer + ": 0.3]\n"
                + "return names.collect { it + limit }.join(',') + steps.size()";
        return rules.shell.evaluate(rule);
    }
}
