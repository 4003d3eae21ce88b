import { IsString } from 'class-validator';
import { PublicUrl } from './public-url.js';
import { Setting, Within } from './setting.js';

/** The address that the API listens on. */
export function HostSetting(): PropertyDecorator {
  return all(Setting('HOST', 'Address the API listens on.', { who: 'start' }), IsString());
}

/** The public address, for the links of the API and the workers. */
export function PublicUrlSetting(): PropertyDecorator {
  const doc =
    'Public base URL of the API, used in links; may have a path (https://example.org/images); default http://HOST:PORT.';
  return all(Setting('PUBLIC_URL', doc, { who: 'start', unit: 'URL' }), PublicUrl());
}

/** How long processes may take to stop, each with a default of its own. */
export function ShutdownGraceSetting(): PropertyDecorator {
  const doc =
    'How long a stopping process waits for work in progress; default of a worker: the longest time limit of its providers plus 30 s.';
  return all(Setting('SHUTDOWN_GRACE_MS', doc, { who: 'processes', unit: 'ms' }), Within(0, 3_630_000));
}

/** The last one first, as if they stood above the property. */
function all(...decorators: readonly PropertyDecorator[]): PropertyDecorator {
  return (target, property) => {
    for (const decorate of decorators.toReversed()) decorate(target, property);
  };
}
