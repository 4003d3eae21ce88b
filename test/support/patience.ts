import { jest } from '@jest/globals';

// A limit for hanging tests, not for speed: test machines are shared, and many tests start real processes.
jest.setTimeout(60_000);
