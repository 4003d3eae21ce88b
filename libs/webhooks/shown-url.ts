/** A receiver's address as it may stay in a log for ever: queries of receivers hold tokens. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
