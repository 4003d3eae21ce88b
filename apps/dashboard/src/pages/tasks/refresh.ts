import type { TaskPage } from '../../api/types.ts';

const REFRESH_MS = 5_000;
/** For searches in which nothing is pending: each one reads many rows. */
const SEARCH_MS = 30_000;
/** Refreshing takes at most this part of the time, however slow a search is. */
const SHARE = 0.1;

interface TimedPage extends TaskPage {
  /** Milliseconds that it took to load. */
  readonly took: number;
}

/** The page, and how long it took to load. */
export async function timed(loading: Promise<TaskPage>): Promise<TimedPage> {
  const begun = performance.now();
  const page = await loading;
  return { ...page, took: Math.round(performance.now() - begun) };
}

/**
 * Milliseconds until the list is read again; false = never. A long list is read again only while one of its tasks is
 * pending. The browser keeps the scroll position when rows are added above.
 */
export function refreshMs(pages: readonly TimedPage[], isSearch: boolean): number | false {
  const isPending = pages.some(({ data }) => data.some(({ status }) => status === 'pending'));
  if (!isPending && pages.length > 1) return false;
  const took = pages.reduce((sum, page) => sum + page.took, 0);
  return Math.max(isSearch && !isPending ? SEARCH_MS : REFRESH_MS, took / SHARE);
}
