import type { Provider } from '../../api/operation.ts';
import { fromNow, secondsLeft } from '../../parts/format.ts';
import type { StateLook } from '../../parts/state.tsx';

/** How a provider is doing, and what that means. */
export interface Health extends StateLook {
  readonly why: string;
}

/** What matters most comes first: what somebody did, then what is missing, then what went wrong. */
export function healthOf(provider: Provider): Health {
  const { drained, type, has_key: hasKey, breaker, open_ms: openMs, calls, concurrency } = provider;
  if (type === null)
    return {
      label: 'Not in the catalogue',
      color: 'gray',
      why: 'It is drained, and no model is served by it any more.',
    };
  if (drained !== null) {
    const reason = drained.reason === null ? '' : `: ${drained.reason}`;
    return { label: 'Drained', color: 'gray', why: `It was drained ${fromNow(drained.since)}${reason}.` };
  }
  if (!hasKey)
    return { label: 'No key set', color: 'red', why: 'It needs a key, and the API was started without one.' };
  if (breaker === 'open') {
    const why = `It failed again and again. It is tried again in ${secondsLeft(openMs)}.`;
    return { label: 'Resting', color: 'red', why };
  }
  if (breaker === 'half-open')
    return {
      label: 'Being tried',
      color: 'blue',
      why: 'It rested after failures. The next call shows whether it works.',
    };
  if (concurrency !== null && calls >= concurrency)
    return { label: 'Full', color: 'blue', why: 'As many calls are running as may. More wait, or go elsewhere.' };
  return { label: 'Healthy', color: 'green', why: 'It gets calls.' };
}
