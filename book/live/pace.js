// How much of a run is computed in one frame. A whole run is spread over a few seconds, so that it can be watched; and
// no frame computes for longer than its budget (or than one piece of work), so that the page stays smooth anywhere.
"use strict";
(function (live) {
  const SECONDS = 4; // for a whole run, where the machine can do it
  const BUDGET = 12; // milliseconds a frame: the rest of 33, or of 16, is for drawing
  const LONGEST = 100; // milliseconds between frames that count; a page in the background does not catch up

  class Pace {
    constructor(clock = () => performance.now()) {
      this.clock = clock;
      this.restart();
    }

    restart() {
      this.elapsed = 0;
      this.frames = 0;
      this.watched = 0;
      this.slowest = 0;
      this.pause();
    }

    pause() {
      this.last = null;
    }

    // Compute what is due; say whether the run goes on.
    frame(run) {
      const began = this.clock();
      if (this.last !== null) {
        const interval = began - this.last;
        this.elapsed += Math.min(interval, LONGEST);
        this.watched += interval;
        this.slowest = Math.max(this.slowest, interval);
        this.frames += 1;
      }
      this.last = began;
      const due = Math.max(1, (this.elapsed / 1000 / SECONDS) * run.steps);
      let now = began;
      for (;;) {
        if (run.step >= due) return true;
        const before = now;
        if (!run.work()) return false;
        now = this.clock();
        // Another piece is begun only if one as long as the last would still fit.
        if (now + (now - before) > began + BUDGET) return true;
      }
    }

    get framesPerSecond() {
      return this.frames === 0 ? 0 : (1000 * this.frames) / this.watched;
    }
  }

  live.pace = { BUDGET, Pace, SECONDS };
})((window.sgdnoise = window.sgdnoise || {}));
