import fc from 'fast-check';
import { FREE_SIZES, gridSize, LATENT_SIZES, offeredSize, type Size } from './offered-size.js';

const size = (text: string): Size => {
  const [width, height] = text.split('x').map(Number);
  return { width: width ?? 0, height: height ?? 0 };
};
const offered = ['1024x1024', '1536x1024', '1024x1536', '2048x2048'].map(size);

describe('offeredSize', () => {
  it.each([
    ['as it is', '1024x1024', '1024x1024'],
    ['the nearest shape that covers it', '1024x768', '1536x1024'],
    ['a larger one of another shape before a smaller one of its own', '1536x1088', '2048x2048'],
    ['the smaller of two of the same shape', '640x640', '1024x1024'],
    ['the nearest shape where none covers it', '3840x2160', '1536x1024'],
    ['the largest of the nearest shape where none covers it', '2880x2880', '2048x2048'],
  ])('asks for %s', (_name, wanted, asked) => {
    expect(offeredSize(size(wanted), offered)).toEqual(size(asked));
  });

  it('asks for what is wanted where everything is offered', () => {
    expect(offeredSize(size('1648x3840'), [])).toEqual(size('1648x3840'));
  });
});

describe('gridSize', () => {
  it.each([
    ['what it can draw as it is', '1024x1024', '1024x1024'],
    ['the next step of each edge', '1000x1001', '1008x1008'],
    ['an enlarged one for too few pixels', '512x512', '816x816'],
    ['an enlarged one of the same shape', '512x320', '1024x640'],
    ['an enlarged one of the smallest', '64x64', '816x816'],
    ['an enlarged one of the longest shape', '192x64', '1408x480'],
    ['the most pixels', '3840x2160', '3840x2160'],
    ['the largest there is where none covers it', '2881x2879', '2880x2864'],
  ])('asks for %s', (_name, wanted, asked) => {
    expect(gridSize(size(wanted), FREE_SIZES)).toEqual(size(asked));
  });

  it('asks for what the model draws, and for less than is wanted only next to the most pixels', () => {
    const edge = fc.integer({ min: 64, max: 3_840 });
    fc.assert(
      fc.property(edge, edge, (width, height) => {
        const short = Math.min(width, height);
        const long = Math.max(width, height);
        fc.pre(long <= 3 * short && width * height <= 8_294_400);
        const asked = gridSize({ width, height }, FREE_SIZES);
        const area = asked.width * asked.height;
        expect([asked.width % 16, asked.height % 16, area >= 655_360, area <= 8_294_400]).toEqual([0, 0, true, true]);
        expect(Math.max(asked.width, asked.height)).toBeLessThanOrEqual(3_840);
        expect(Math.max(asked.width, asked.height)).toBeLessThanOrEqual(3 * Math.min(asked.width, asked.height));
        const covers = asked.width >= width && asked.height >= height;
        expect(covers || Math.ceil(width / 16) * 16 * Math.ceil(height / 16) * 16 > 8_294_400).toBe(true);
        expect(gridSize(asked, FREE_SIZES)).toEqual(asked);
      }),
      { numRuns: 2_000 },
    );
  });

  it('knows the steps of latents', () => {
    expect(gridSize(size('1001x700'), LATENT_SIZES)).toEqual(size('1008x704'));
    expect(gridSize(size('64x64'), LATENT_SIZES)).toEqual(size('512x512'));
  });
});
