import type { FinishedImage } from '#images/steps/finish-image.js';
import type { TaskOptions } from '#tasks/row/task.js';

/** Describes, in plain words, how a provider's image was changed to match the order. */
export function unmetOptions({ received, width, height, format, isAnimated }: FinishedImage): string[] {
  const found: string[] = [];
  if (received.width !== width || received.height !== height) {
    found.push(`The provider's image of ${received.width}x${received.height} pixels was fitted to ${width}x${height}.`);
  }
  if (received.format !== format) found.push(`The provider's ${received.format} was encoded as ${format}.`);
  if (received.isAnimated && !isAnimated) found.push("Only the first frame of the provider's animation was kept.");
  return found;
}

/** The size sent to the provider and the size received, `<w>x<h>` or `auto`. */
export function sizesOf(
  options: TaskOptions,
  sentSize: string | undefined,
  { received }: FinishedImage,
): { sent: string; received: string } {
  const { pixels } = options;
  const ordered = pixels === null ? 'auto' : `${pixels.width}x${pixels.height}`;
  return { sent: sentSize ?? ordered, received: `${received.width}x${received.height}` };
}
