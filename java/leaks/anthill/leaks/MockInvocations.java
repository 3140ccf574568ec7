package anthill.leaks;

import java.util.ArrayList;
import java.util.List;
import org.mockito.Mockito;

/** A load test replaces the bank by a Mockito mock, which records each call with its arguments for later checks. */
final class MockInvocations {
    private MockInvocations() {}

    public static void main(String[] args) throws Exception {
        BankClient bank = Mockito.mock(BankClient.class);
        Mockito.when(bank.transfer(Mockito.any())).thenReturn("accepted");
        LoadTest test = new LoadTest(bank);
        Leak.of("the mock records every call with its arguments; nobody made it stubOnly")
                .culprit("org.mockito.internal.verification.DefaultRegisteredInvocations.invocations")
                .also(
                        "org.mockito.internal.stubbing.InvocationContainerImpl.registeredInvocations",
                        "anthill.leaks.LoadTest.bank")
                .element(Transfer.class)
                .run(args, test::run);
    }
}

interface BankClient {
    String transfer(Transfer transfer);
}

final class LoadTest {
    private final BankClient bank;

    LoadTest(BankClient bank) {
        this.bank = bank;
    }

    void run(int number) {
        String answer = bank.transfer(new Transfer(number));
        if (!answer.equals("accepted")) {
            throw new IllegalStateException(answer);
        }
    }
}

final class Transfer {
    final String from;
    final String to;
    final List<String> purpose = new ArrayList<>();

    Transfer(int number) {
        from = "AT" + (1_000_000_000L + number);
        to = "DE" + (2_000_000_000L + number);
        for (int i = 0; i < 4; i++) {
            purpose.add(Words.text(number, 140));
        }
    }
}
