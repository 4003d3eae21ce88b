import { jest } from '@jest/globals';

// A limit for hanging tests, not for speed: test machines are shared, and many tests start real processes. Some wait for
// recovery, half a minute on an idle machine.
jest.setTimeout(180_000);
