import { homedir } from 'node:os';
import { join } from 'node:path';

/** Installation folder of the peers: shared by all clones, outside of git. */
export const PEERS = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'darkroom', 'peers');
