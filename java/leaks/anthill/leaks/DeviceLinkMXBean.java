package anthill.leaks;

/** What {@link DeviceLink} shows to JMX, which only takes public interfaces. */
public interface DeviceLinkMXBean {
    long getBytes();
}
