package anthill.leaks;

import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;
import java.util.TreeMap;

/** Reminders are tasks of a java.util.Timer; a cancelled one stays until its time, with all that it refers to. */
final class TimerTasks {
    private TimerTasks() {}

    public static void main(String[] args) throws Exception {
        Leak.of("cancelled reminders stay in the timer's queue until their time, because nobody purges it")
                .culprit("java.util.TaskQueue.queue")
                .also("anthill.leaks.Reminders.TIMER", "java.util.TimerThread.queue", "thread reminders")
                .element(Reminder.class)
                .run(args, number -> Reminders.remind(number).cancel());
    }
}

final class Reminders {
    private static final Timer TIMER = new Timer("reminders", true);
    private static final long HOUR = 3_600_000;
    private static final long WEEK = 7 * 24 * HOUR;

    private static volatile int beats;

    static {
        // A timer drops the cancelled tasks that are first in its queue; something usually comes before them.
        TIMER.schedule(
                new TimerTask() {
                    @Override
                    public void run() {
                        beats++;
                    }
                },
                HOUR,
                HOUR);
    }

    private Reminders() {}

    static TimerTask remind(int appointment) {
        Reminder reminder = new Reminder(appointment);
        TIMER.schedule(reminder, WEEK + appointment);
        return reminder;
    }
}

final class Reminder extends TimerTask {
    private final Map<String, String> appointment = new TreeMap<>();

    Reminder(int number) {
        appointment.put("who", Words.name(number));
        appointment.put("where", Words.city(number));
        appointment.put("what", Words.text(number, 700));
        appointment.put("answer to", Words.mail(number));
    }

    @Override
    public void run() {
        appointment.put("reminded", "yes");
    }
}
