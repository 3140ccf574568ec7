package anthill.samples

import dev.anthill.GcAssertions

/** Closed sessions that a listener keeps: in Kotlin, the lambda's captured variable is the path. */
object KotlinSessions {
    private val listeners = mutableListOf<() -> String>()
    private var open: Session? = null

    class Session(val user: String) {
        fun close(listener: () -> String, fixed: Boolean) {
            if (fixed) listeners.remove(listener)
            GcAssertions.assertDead(this, "a closed session is gone")
        }
    }

    private fun use(fixed: Boolean) {
        repeat(10) { number ->
            val session = Session("user $number")
            val listener = { "still here: ${session.user}" }
            listeners += listener
            session.close(listener, fixed)
        }
        open = Session("the one that is open")
    }

    @JvmStatic
    fun main(args: Array<String>) {
        val fixed = Asserted.isFixed(args, 0)
        use(fixed)
        Console.truth("kept", if (fixed) 0 else listeners.size)
        Console.truth("open", open?.user)
        Asserted.checkAndWait()
    }
}
