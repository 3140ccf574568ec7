package dev.anthill.junit;

import dev.anthill.GcAssertions;
import dev.anthill.internal.Scope;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Optional;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.BeforeTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** Implements {@link LeakCheck}: loads the agent, opens a scope for each test, checks it afterwards, and resolves {@link HeapAssertions}. */
public final class AnthillExtension
        implements BeforeEachCallback,
                BeforeTestExecutionCallback,
                AfterTestExecutionCallback,
                AfterEachCallback,
                ParameterResolver {
    private static final Namespace NAMESPACE = Namespace.create(AnthillExtension.class);

    /** What is kept of a test while it runs. */
    private static final class Running {
        final Scope scope = Scope.open();
        final boolean hasRegion;
        /** What may not survive the region; anything if there are none. */
        final Class<?>[] types;
        /** Said of what survives; made before the region, of which it is no part. */
        final String message;
        boolean inRegion;

        Running(LeakCheck check, String name) {
            boolean all = check != null && check.region();
            types = check == null || all ? new Class<?>[0] : check.types();
            hasRegion = all || types.length > 0;
            message = "allocated in " + name;
        }
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        Agent.load();
        context.getStore(NAMESPACE).put(Running.class, new Running(check(context), context.getDisplayName()));
    }

    @Override
    public void beforeTestExecution(ExtensionContext context) {
        Running running = running(context);
        if (running.hasRegion) {
            warmUp(context.getRequiredTestMethod());
            running.inRegion = true;
            GcAssertions.startRegion();
        }
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        Running running = running(context);
        if (running.inRegion) {
            running.inRegion = false;
            Scope.endRegion(running.message, running.types);
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Running running = running(context);
        if (running == null) {
            // The agent could not be loaded, which was said.
            return;
        }
        try {
            // What a failed test leaves says nothing, and its exception may hold anything.
            if (context.getExecutionException().isEmpty()) {
                HeapAssertions.failOn(running.scope.check());
            }
        } finally {
            running.scope.close();
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == HeapAssertions.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return new HeapAssertions(Agent.load());
    }

    private static Running running(ExtensionContext context) {
        return context.getStore(NAMESPACE).get(Running.class, Running.class);
    }

    /** The method's own says more than that of its class. */
    private static LeakCheck check(ExtensionContext context) {
        Optional<LeakCheck> own = AnnotationSupport.findAnnotation(context.getElement(), LeakCheck.class);
        for (Class<?> type = context.getRequiredTestClass(); own.isEmpty() && type != null; type = type.getEnclosingClass()) {
            own = AnnotationSupport.findAnnotation(type, LeakCheck.class);
        }
        return own.orElse(null);
    }

    /** A method is linked when it is called first, which leaves objects behind; a call that the JVM must refuse does it, too. */
    private static void warmUp(Method method) {
        try {
            Object nobody = new Object();
            if (method.trySetAccessible()) {
                method.invoke(nobody, new Object[method.getParameterCount() + 1]);
            }
        } catch (IllegalArgumentException | IllegalAccessException | InvocationTargetException e) {
            // It was refused, as it should be.
        }
    }
}
