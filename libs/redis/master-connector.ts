import { SentinelConnector, type SentinelConnectionOptions } from 'ioredis';

type Report = Parameters<SentinelConnector['connect']>[0];

/**
 * Finds the master through its Sentinels at each connect. The previous connection's failover detector would still run
 * during the search for the next master; ioredis 6 would take its report as the end of all tries, and the process would
 * be without Redis until it is restarted. So the detector is closed first.
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
