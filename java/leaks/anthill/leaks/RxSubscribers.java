package anthill.leaks;

import io.reactivex.rxjava3.core.Observable;
import io.reactivex.rxjava3.subjects.BehaviorSubject;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Each watch list subscribes to the rates of a market that lives as long as the application. The views
 * drop the Disposable that subscribe returns, so they stay subscribed.
 */
final class RxSubscribers {
    private RxSubscribers() {}

    public static void main(String[] args) throws Exception {
        ExchangeRates rates = new ExchangeRates();
        Leak.of("watch lists subscribe to a BehaviorSubject and are never disposed")
                .culprit("io.reactivex.rxjava3.subjects.BehaviorSubject.observers")
                .also("anthill.leaks.ExchangeRates.dollar")
                .element(WatchList.class)
                .run(args, number -> {
                    new WatchList(Words.name(number)).watch(rates.dollar());
                    if (number % 1_000 == 0) {
                        rates.tick(1.05 + number % 7 * 0.01);
                    }
                });
    }
}

final class ExchangeRates {
    private final BehaviorSubject<Double> dollar = BehaviorSubject.createDefault(1.08);

    Observable<Double> dollar() {
        return dollar.hide();
    }

    void tick(double rate) {
        dollar.onNext(rate);
    }
}

final class WatchList {
    private static final int HISTORY = 60;

    private final String owner;
    private final double[] amounts = new double[100];
    private final Deque<Double> history = new ArrayDeque<>(HISTORY);

    WatchList(String owner) {
        this.owner = owner;
    }

    void watch(Observable<Double> rates) {
        rates.distinctUntilChanged().map(rate -> rate * 0.998).subscribe(this::show);
    }

    private void show(double rate) {
        if (history.size() == HISTORY) {
            history.removeFirst();
        }
        history.addLast(rate);
        for (int i = 0; i < amounts.length; i++) {
            amounts[i] = rate * (i + owner.length());
        }
    }
}
