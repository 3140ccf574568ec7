package anthill.samples;

import dev.anthill.GcAssertions;
import java.io.IOException;

/**
 * A tree that became a graph: a subtree that was moved is still where it was. Every node is asserted to be unshared, as in
 * Aftandilian and Guyer (2009), section 2.5.1.
 *
 * <p>Argument: {@code fixed} takes the subtree away from its old place.
 */
final class AssertedTree {
    private static final int DEPTH = 6;

    static Node root;

    private AssertedTree() {}

    static final class Node {
        Node left;
        Node right;

        Node(int depth) {
            if (depth > 0) {
                left = new Node(depth - 1);
                right = new Node(depth - 1);
            }
            GcAssertions.assertUnshared(this, "a tree has one way to each node");
        }
    }

    public static void main(String[] args) throws IOException {
        boolean fixed = Asserted.isFixed(args, 0);
        root = new Node(DEPTH);
        move(fixed);
        Console.truth("shared", fixed ? 0 : 1);
        Asserted.checkAndWait();
    }

    private static void move(boolean fixed) {
        Node moved = root.left.left;
        root.right.left = moved;
        if (fixed) {
            root.left.left = null;
        }
    }
}
