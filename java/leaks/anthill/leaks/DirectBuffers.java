package anthill.leaks;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A chat server keeps sent messages for clients that come back, with their Netty buffers, and releases
 * none: little on the heap, much outside of it.
 */
final class DirectBuffers {
    private DirectBuffers() {}

    public static void main(String[] args) throws Exception {
        ChatRoom room = new ChatRoom("lobby");
        Leak.of("sent messages keep direct Netty buffers that are never released")
                .culprit("anthill.leaks.ChatRoom.sent")
                .also("anthill.leaks.SentMessage.frame", "io.netty.buffer.PooledByteBufAllocator.DEFAULT")
                .element(SentMessage.class)
                .run(args, number -> {
                    room.send(Words.name(number), Words.text(number, 4_000));
                    Leak.outside(PooledByteBufAllocator.DEFAULT.metric().usedDirectMemory());
                });
    }
}

final class ChatRoom {
    private static final int FRAME = 16_384;

    private final String name;
    private final List<SentMessage> sent = new ArrayList<>();

    ChatRoom(String name) {
        this.name = name;
    }

    void send(String author, String text) {
        ByteBuf frame = PooledByteBufAllocator.DEFAULT.directBuffer(FRAME);
        frame.writeCharSequence(name + ": " + text, StandardCharsets.UTF_8);
        sent.add(new SentMessage(author, frame));
    }
}

final class SentMessage {
    final String author;
    final ByteBuf frame;

    SentMessage(String author, ByteBuf frame) {
        this.author = author;
        this.frame = frame;
    }
}
