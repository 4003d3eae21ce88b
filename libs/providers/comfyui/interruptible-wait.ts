/** A wait that can be ended early. */
export class InterruptibleWait {
  private interrupted = false;
  private wake: (() => void) | undefined;

  /** Ends the current wait, or the next one as soon as it starts. */
  interrupt(): void {
    this.interrupted = true;
    this.wake?.();
  }

  /** Returns whether `interrupt` was called before the time was over. Throws the signal's reason. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (!this.interrupted) {
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
    const { interrupted } = this;
    this.interrupted = false;
    return interrupted;
  }
}
