package anthill.samples;

import java.io.IOException;
import java.util.Arrays;

/**
 * A stack that forgets to clear what it pops: an item stays alive until a later push overwrites its
 * slot. After Weninger and Mössenböck (2018), section 5.3.1.
 *
 * <p>Pushes and pops all items, then waits; on each line {@code again} it pushes and pops a tenth as
 * many, which replaces that many of the stale items.
 *
 * <p>Arguments: number of items (default 1,000,000); {@code fixed} as the second one makes pop clear
 * its slot.
 */
final class BuggyStack {
    static BuggyStack stack;

    private final boolean clearsPopped;
    private Object[] elements = new Object[16];
    private int size;

    private BuggyStack(boolean clearsPopped) {
        this.clearsPopped = clearsPopped;
    }

    static final class Item {
        final int number;

        Item(int number) {
            this.number = number;
        }
    }

    void push(Object element) {
        if (size == elements.length) {
            elements = Arrays.copyOf(elements, 2 * size);
        }
        elements[size++] = element;
    }

    Object pop() {
        Object element = elements[--size];
        if (clearsPopped) {
            elements[size] = null;
        }
        return element;
    }

    private void pushAndPop(int items) {
        for (int i = 0; i < items; i++) {
            push(new Item(i));
        }
        for (int i = 0; i < items; i++) {
            pop();
        }
    }

    public static void main(String[] args) throws IOException {
        int items = Console.argument(args, 0, 1_000_000);
        boolean fixed = args.length > 1 && args[1].equals("fixed");
        stack = new BuggyStack(fixed);

        stack.pushAndPop(items);
        int replaced = 0;
        String command;
        do {
            Console.truth("items on the stack", stack.size);
            Console.truth("stale items", fixed ? 0 : items);
            Console.truth("items replaced", replaced);
            Console.truth("slots", stack.elements.length);
            command = Console.ready();
            if ("again".equals(command)) {
                replaced = items / 10;
                stack.pushAndPop(replaced);
            }
        } while (command != null);
    }
}
