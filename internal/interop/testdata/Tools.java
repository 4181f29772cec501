import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;

/**
 * Runs Kafka's command-line tools one after the other in one JVM: each start of
 * a JVM would cost more than most of them take. A request on standard input is
 * what the tool reads, the number of its words, and the words: the class with
 * the tool's main, then its arguments. A reply on standard output is the exit
 * code and what the tool printed on both of its streams. Texts are UTF-8 after
 * their length, numbers have four bytes, the highest first.
 */
public class Tools {
    /** Ends a tool where it would have ended its JVM. Some print what they catch. */
    static final class Ended extends Error {
        Ended() {
            super("", null, false, false);
        }

        @Override public String toString() { return ""; }

        @Override public void printStackTrace(PrintStream s) {}

        @Override public void printStackTrace(PrintWriter w) {}
    }

    /** The first exit of the running tool counts: some catch the Ended of it. */
    static volatile Integer first;

    static final ByteArrayOutputStream printed = new ByteArrayOutputStream();

    static synchronized void exit(int code) {
        if (first == null) first = code;
        throw new Ended();
    }

    public static void main(String[] none) throws Exception {
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream out = new DataOutputStream(System.out);
        // Scala keeps the streams that it saw first, so these stay for good.
        PrintStream both = new PrintStream(new OutputStream() {
            @Override public void write(int b) {
                synchronized (printed) { printed.write(b); }
            }

            @Override public void write(byte[] b, int off, int len) {
                synchronized (printed) { printed.write(b, off, len); }
            }
        }, true);
        System.setOut(both);
        System.setErr(both);
        holdExits();
        while (true) {
            String stdin;
            try {
                stdin = text(in);
            } catch (EOFException end) {
                Runtime.getRuntime().halt(0);
                return;
            }
            String[] words = new String[in.readInt()];
            for (int i = 0; i < words.length; i++) words[i] = text(in);
            int code = run(stdin, words);
            both.flush();
            byte[] said;
            synchronized (printed) {
                said = printed.toByteArray();
                printed.reset();
            }
            out.writeInt(code);
            out.writeInt(said.length);
            out.write(said);
            out.flush();
        }
    }

    /** Has the tools' exits end the tool alone. The class that makes them moved in Kafka 4. */
    static void holdExits() throws ReflectiveOperationException {
        Class<?> exits;
        try {
            exits = Class.forName("org.apache.kafka.common.utils.Exit");
        } catch (ClassNotFoundException moved) {
            exits = Class.forName("org.apache.kafka.common.utils.internals.Exit");
        }
        Class<?> procedure = Class.forName(exits.getName() + "$Procedure");
        for (String setter : new String[] {"setExitProcedure", "setHaltProcedure"}) {
            boolean tells = setter.equals("setExitProcedure");
            exits.getMethod(setter, procedure).invoke(null, Proxy.newProxyInstance(
                Tools.class.getClassLoader(), new Class<?>[] {procedure}, (self, method, args) -> {
                    if (tells && args[1] != null) System.err.println(args[1]);
                    exit((Integer) args[0]);
                    return null;
                }));
        }
    }

    static int run(String stdin, String[] words) {
        System.setIn(new ByteArrayInputStream(stdin.getBytes(StandardCharsets.UTF_8)));
        first = null;
        String[] args = java.util.Arrays.copyOfRange(words, 1, words.length);
        try {
            Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) args);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof Ended)) {
                e.getCause().printStackTrace();
                return 1;
            }
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            return 127;
        }
        return first == null ? 0 : first;
    }

    static String text(DataInputStream in) throws java.io.IOException {
        byte[] b = new byte[in.readInt()];
        in.readFully(b);
        return new String(b, StandardCharsets.UTF_8);
    }
}
