package anthill.samples;

import java.io.IOException;

/**
 * One singly linked list: the deepest graph a number of objects can form, which breaks every
 * analysis that recurses.
 *
 * <p>Arguments: number of nodes (default 10,000,000).
 */
final class Chain {
    static Node head;

    private Chain() {}

    static final class Node {
        final Node next;
        final int position;

        Node(Node next, int position) {
            this.next = next;
            this.position = position;
        }
    }

    public static void main(String[] args) throws IOException {
        int nodes = Console.argument(args, 0, 10_000_000);
        for (int position = nodes - 1; position >= 0; position--) {
            head = new Node(head, position);
        }

        Console.truth("nodes", nodes);
        Console.truth("position at the head", head.position);
        Console.readyUntilClosed();
    }
}
