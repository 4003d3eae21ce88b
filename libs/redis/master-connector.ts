import { SentinelConnector, type SentinelConnectionOptions } from 'ioredis';

type Report = Parameters<SentinelConnector['connect']>[0];

/**
 * Finds the master through its Sentinels, again and again. What listened for a failover on behalf of the connection
 * before still does while the next one is looked for; ioredis 6 would take its word then for the end of all tries, and
 * the process would be without Redis until it is restarted. So that is closed first.
 */
export class MasterConnector extends SentinelConnector {
  /** `options` are those of the connection; ioredis names no type for them here. */
  constructor(options: unknown) {
    if (!isOfSentinels(options)) throw new TypeError('a master is found through Sentinels only');
    super(options);
  }

  override connect(report: Report): ReturnType<SentinelConnector['connect']> {
    this.disconnect();
    return super.connect(report);
  }
}

function isOfSentinels(options: unknown): options is SentinelConnectionOptions {
  return typeof options === 'object' && options !== null && 'sentinels' in options;
}
