package anthill.leaks;

/**
 * Each request has a mapper of its own, which keeps its codecs in a {@link ClassValue}. The values are held by the
 * class they were computed for, {@code String}, which lives as long as the JVM; a codec refers to its mapper, so the
 * weak key of its entry never goes.
 */
final class ClassValues {
    private ClassValues() {}

    public static void main(String[] args) throws Exception {
        askReflection();
        Leak.of("the class String holds a codec of every mapper that was ever used")
                .culprit("java.lang.Class.classValueMap")
                .element(Codec.class)
                .run(args, number -> new RequestMapper(number).write("request " + number));
    }

    /** Fills the other fields of class objects that a heap dump does not have. */
    private static void askReflection() {
        Codec.class.getDeclaredMethods();
        Codec.class.getDeclaredConstructors();
        Codec.class.getTypeParameters();
        Codec.class.getAnnotations();
    }
}

final class RequestMapper {
    private final int number;
    private final ClassValue<Codec<?>> codecs = new ClassValue<>() {
        @Override
        protected Codec<?> computeValue(Class<?> type) {
            return new Codec<>(RequestMapper.this, type, Words.text(number, 600));
        }
    };

    RequestMapper(int number) {
        this.number = number;
    }

    String write(Object value) {
        return codecs.get(value.getClass()).format + value;
    }
}

@Deprecated
final class Codec<T> {
    final RequestMapper mapper;
    final Class<T> type;
    final String format;

    Codec(RequestMapper mapper, Class<T> type, String format) {
        this.mapper = mapper;
        this.type = type;
        this.format = format;
    }
}
