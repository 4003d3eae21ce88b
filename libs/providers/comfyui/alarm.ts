/** A wait that can be ended early. */
export class Alarm {
  private rung = false;
  private wake: (() => void) | undefined;

  /** Ends the current wait, or the next one as soon as it starts. */
  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  /** Returns whether `ring` was called before the time was over. Throws the signal's reason. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (!this.rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
        signal.addEventListener('abort', this.wake, { once: true });
      });
      if (this.wake !== undefined) signal.removeEventListener('abort', this.wake);
      this.wake = undefined;
      signal.throwIfAborted();
    }
    const { rung } = this;
    this.rung = false;
    return rung;
  }
}
