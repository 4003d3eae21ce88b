import { request, type Dispatcher } from 'undici';
import { untilAborted } from './until-aborted.js';

type Options = NonNullable<Parameters<typeof request<null>>[1]> & { readonly signal: AbortSignal };

/** undici's `request`, which by itself ignores the signal while it waits for its connection. */
export function abortableRequest(url: string | URL, options: Options): Promise<Dispatcher.ResponseData> {
  return untilAborted(request(url, options), options.signal);
}
