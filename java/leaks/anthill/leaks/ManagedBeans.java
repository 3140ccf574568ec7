package anthill.leaks;

import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.LongAdder;
import javax.management.JMException;
import javax.management.ObjectName;

/** Each connection registers an MBean with the platform's server, under its own number, and stays there. */
final class ManagedBeans {
    private ManagedBeans() {}

    public static void main(String[] args) throws Exception {
        Leak.of("MBeans of closed connections are never unregistered from the platform's MBean server")
                .culprit("com.sun.jmx.mbeanserver.Repository.domainTb")
                .also("java.lang.management.ManagementFactory.platformMBeanServer")
                .element(DeviceLink.class)
                .run(args, number -> new DeviceLink(number).register());
    }
}

final class DeviceLink implements DeviceLinkMXBean {
    private final int number;
    private final LongAdder bytes = new LongAdder();
    private final byte[] buffer = new byte[512];

    DeviceLink(int number) {
        this.number = number;
    }

    void register() throws JMException {
        ManagementFactory.getPlatformMBeanServer()
                .registerMBean(this, new ObjectName("anthill.leaks:type=DeviceLink,id=" + number));
        bytes.add(buffer.length);
    }

    @Override
    public long getBytes() {
        return bytes.sum();
    }
}
