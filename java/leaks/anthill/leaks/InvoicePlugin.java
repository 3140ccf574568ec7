package anthill.leaks;

import java.util.HashMap;
import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;

/** The plug-in of {@link PluginLoaders}, which nobody but a {@link ChildFirstLoader} loads. */
public final class InvoicePlugin implements Runnable {
    private static final Map<String, TaxRate> RATES = new HashMap<>();

    private final Timer timer = new Timer("invoice-timer", true);
    private int sent;

    static {
        for (int i = 0; i < 600; i++) {
            RATES.put("product " + i, new TaxRate(Words.city(i), Words.text(i, 150), i % 25));
        }
    }

    private static final class TaxRate {
        final String place;
        final String description;
        final int percent;

        TaxRate(String place, String description, int percent) {
            this.place = place;
            this.description = description;
            this.percent = percent;
        }
    }

    @Override
    public void run() {
        timer.schedule(
                new TimerTask() {
                    @Override
                    public void run() {
                        sent += RATES.size();
                    }
                },
                60_000,
                60_000);
    }
}
