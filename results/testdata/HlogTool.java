import java.io.FileOutputStream;
import java.io.PrintStream;
import org.HdrHistogram.EncodableHistogram;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;
import org.HdrHistogram.HistogramLogReader;
import org.HdrHistogram.HistogramLogWriter;

/**
 * The other side of the test of .hlog files: reads or writes one with the Java
 * library and says what is in it, a line for each fact.
 *
 * <pre>java -cp HdrHistogram.jar HlogTool.java read|write FILE</pre>
 */
public class HlogTool {
    static final String[] PERCENTILES = {"1", "25", "50", "90", "99", "99.9", "99.99"};
    static final long HOUR_NS = 3_600_000_000_000L;

    public static void main(String[] args) throws Exception {
        if (args[0].equals("write")) {
            write(args[1]);
        }
        HistogramLogReader reader = new HistogramLogReader(args[1]);
        while (reader.hasNext()) {
            EncodableHistogram h = reader.nextIntervalHistogram();
            if (h == null) {
                break;
            }
            tell((Histogram) h);
        }
    }

    static void tell(Histogram h) {
        System.out.printf("tag %s%n", h.getTag());
        System.out.printf("start %d end %d%n", h.getStartTimeStamp(), h.getEndTimeStamp());
        System.out.printf("count %d%n", h.getTotalCount());
        for (String p : PERCENTILES) {
            System.out.printf("p%s %d%n", p, h.getValueAtPercentile(Double.parseDouble(p)));
        }
        for (HistogramIterationValue v : h.recordedValues()) {
            System.out.printf("bucket %d %d%n", v.getValueIteratedTo(), v.getCountAtValueIteratedTo());
        }
    }

    /** Writes three intervals of two tags, from the ends of the range and between. */
    static void write(String file) throws Exception {
        long base = 1_790_000_000_000L;
        try (PrintStream out = new PrintStream(new FileOutputStream(file))) {
            HistogramLogWriter writer = new HistogramLogWriter(out);
            writer.outputComment("[written by the Java library]");
            writer.outputLogFormatVersion();
            writer.outputStartTime(base);
            writer.outputBaseTime(base);
            writer.setBaseTime(base);
            writer.outputLegend();
            for (int i = 0; i < 3; i++) {
                Histogram h = new Histogram(1, HOUR_NS, 3);
                h.setTag(i == 1 ? "moved" : "granted");
                h.setStartTimeStamp(base + 1000L * i);
                h.setEndTimeStamp(base + 1000L * (i + 1));
                long v = 1000;
                for (int k = 0; k < 5000; k++) {
                    h.recordValue(v);
                    v = 1000 + (v * 1_103_515_245L + 12_345L + i) % 7_000_000_000L;
                }
                h.recordValue(1000);
                h.recordValue(HOUR_NS);
                h.recordValueWithCount(2_050_000_000L, 70_000);
                writer.outputIntervalHistogram(h);
            }
        }
    }
}
