package anthill.samples

import dev.anthill.GcAssertions
import scala.collection.mutable.ListBuffer

/** Closed sessions that a listener keeps: in Scala, the function's captured variable is the path. */
object ScalaSessions {
  private val listeners = ListBuffer.empty[() => String]

  final class Session(val user: String) {
    def close(listener: () => String, fixed: Boolean): Unit = {
      if (fixed) listeners -= listener
      GcAssertions.assertDead(this, "a closed session is gone")
    }
  }

  private def use(fixed: Boolean): Unit =
    for (number <- 0 until 10) {
      val session = new Session(s"user $number")
      val listener = () => s"still here: ${session.user}"
      listeners += listener
      session.close(listener, fixed)
    }

  def main(args: Array[String]): Unit = {
    val fixed = Asserted.isFixed(args, 0)
    use(fixed)
    Console.truth("kept", if (fixed) 0 else listeners.size)
    Asserted.checkAndWait()
  }
}
