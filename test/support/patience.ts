import { jest } from '@jest/globals';

// A bound on hanging, not on speed: machines that run tests are shared, and real processes are started in many of them.
jest.setTimeout(60_000);
