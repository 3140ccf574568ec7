package anthill.leaks;

import java.util.Properties;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;
import org.quartz.impl.StdSchedulerFactory;

/** Each export is a durable Quartz job with a name of its own; nobody deletes it when it was run. */
final class SchedulerJobs {
    private SchedulerJobs() {}

    public static void main(String[] args) throws Exception {
        QuietLog.setUp();
        Properties properties = new Properties();
        properties.setProperty("org.quartz.scheduler.instanceName", "exports");
        properties.setProperty("org.quartz.threadPool.threadCount", "2");
        properties.setProperty("org.quartz.jobStore.class", "org.quartz.simpl.RAMJobStore");
        Scheduler scheduler = new StdSchedulerFactory(properties).getScheduler();
        scheduler.start();
        ExportQueue exports = new ExportQueue(scheduler);
        Leak.of("durable jobs with unique names are never deleted from the scheduler's RAMJobStore")
                .culprit("org.quartz.simpl.RAMJobStore.jobsByKey")
                .also("org.quartz.simpl.RAMJobStore.jobsByGroup", "org.quartz.impl.SchedulerRepository.schedulers")
                .element("org.quartz.simpl.JobWrapper")
                .run(args, exports::prepare);
    }
}

final class ExportQueue {
    private final Scheduler scheduler;

    ExportQueue(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    void prepare(int number) throws SchedulerException {
        scheduler.addJob(
                JobBuilder.newJob(ExportJob.class)
                        .withIdentity("export-" + number, "exports")
                        .withDescription("Export for " + Words.name(number))
                        .usingJobData("recipient", Words.mail(number))
                        .usingJobData("query", "select * from orders where note = '" + Words.text(number, 500) + "'")
                        .usingJobData("format", "csv")
                        .storeDurably()
                        .build(),
                false);
    }

    /** What the scheduler runs when somebody triggers the export. */
    public static final class ExportJob implements Job {
        @Override
        public void execute(JobExecutionContext context) {
            context.setResult(context.getMergedJobDataMap().getString("recipient"));
        }
    }
}
