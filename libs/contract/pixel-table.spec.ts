import fc from 'fast-check';
import {
  brokenPixelRule,
  IMAGE_SIZES,
  isImageSize,
  parsePixelSize,
  pixelsFor,
  RESOLUTIONS,
  sizeOfPixels,
  tierOfPixels,
} from './pixel-table.js';

/** Copied from the contract page by hand, so that a slip in the table shows. */
const CONTRACT = `
1:1 1024x1024 2048x2048 2880x2880
16:9 1536x864 2048x1152 3840x2160
3:2 1536x1024 2048x1360 3520x2336
9:16 864x1536 1152x2048 2160x3840
2:3 1024x1536 1360x2048 2336x3520
2:1 2048x1024 2688x1344 3840x1920
4:3 1024x768 2048x1536 3312x2480
1:2 1024x2048 1344x2688 1920x3840
3:4 768x1024 1536x2048 2480x3312
21:9 2016x864 2688x1152 3840x1648
5:4 1280x1024 2560x2048 3216x2576
9:21 864x2016 1152x2688 1648x3840
4:5 1024x1280 2048x2560 2576x3216`
  .trim()
  .split('\n')
  .flatMap((line) => {
    const [size = '', ...row] = line.split(' ');
    return row.map((pixels, tier) => ({ size, resolution: RESOLUTIONS[tier] ?? '1k', pixels }));
  });

describe('the pixel table', () => {
  it.each(CONTRACT)('$size at $resolution is $pixels', ({ size, resolution, pixels }) => {
    if (!isImageSize(size)) throw new Error(`${size} is missing`);
    const { width, height } = pixelsFor(size, resolution) ?? { width: 0, height: 0 };
    expect(`${width}x${height}`).toBe(pixels);
    expect(sizeOfPixels(pixels)).toEqual({ size, resolution });
    expect(brokenPixelRule({ width, height })).toBeUndefined();
  });

  it('has 39 different entries, and auto at every tier', () => {
    expect(new Set(CONTRACT.map(({ pixels }) => pixels)).size).toBe(39);
    expect(IMAGE_SIZES).toHaveLength(14);
    for (const resolution of RESOLUTIONS) expect(pixelsFor('auto', resolution)).toBeNull();
  });

  it('is off the named ratio by at most 0.46 %', () => {
    const errors = CONTRACT.map(({ size, pixels }) => {
      const [across = 0, down = 0] = size.split(':').map(Number);
      const [width = 0, height = 0] = pixels.split('x').map(Number);
      return Math.abs((width * down) / (height * across) - 1);
    });
    expect(Math.max(...errors)).toBeLessThan(0.0046);
  });
});

describe('the tier that pixels are billed as', () => {
  it.each(CONTRACT)('is $resolution for the $pixels of $size', ({ pixels, resolution }) => {
    expect(tierOfPixels(parsePixelSize(pixels) ?? { width: 0, height: 0 })).toBe(resolution);
  });

  it('is that of the image of the table whose area is the nearest above', () => {
    const areas = CONTRACT.map(({ pixels, resolution }) => {
      const [width = 0, height = 0] = pixels.split('x').map(Number);
      return { area: width * height, resolution };
    }).sort((a, b) => a.area - b.area);
    const edge = fc.integer({ min: 64, max: 3_840 });
    fc.assert(
      fc.property(edge, edge, (width, height) => {
        fc.pre(brokenPixelRule({ width, height }) === undefined);
        const above = areas.find(({ area }) => area >= width * height);
        expect(tierOfPixels({ width, height })).toBe(above?.resolution);
      }),
    );
    expect(tierOfPixels({ width: 2048, height: 1024 })).toBe('1k');
    expect(tierOfPixels({ width: 2049, height: 1024 })).toBe('2k');
    expect(tierOfPixels({ width: 2561, height: 2048 })).toBe('4k');
  });
});

describe('free sizes', () => {
  it.each([
    ['64x63', /at least 64 pixels/],
    ['3841x1600', /at most 3840/],
    ['3072x1008', /3:1/],
    ['3840x2161', /at most 8294400/],
  ])('%s breaks one rule, which is named', (text, rule) => {
    expect(brokenPixelRule(parsePixelSize(text) ?? { width: 0, height: 0 })).toMatch(rule);
  });

  it('takes exactly what the limits allow', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), fc.integer({ min: 1, max: 5_000 }), (width, height) => {
        const allowed =
          width >= 64 &&
          height >= 64 &&
          width <= 3_840 &&
          height <= 3_840 &&
          width <= 3 * height &&
          height <= 3 * width &&
          width * height <= 8_294_400;
        expect(brokenPixelRule({ width, height }) === undefined).toBe(allowed);
      }),
    );
  });

  it('reads what it is written as, and no text that only looks like it', () => {
    const edge = fc.integer({ min: 1, max: 999_999_999 });
    fc.assert(
      fc.property(edge, edge, (width, height) => {
        expect(parsePixelSize(`${width}x${height}`)).toEqual({ width, height });
      }),
    );
    const letters = fc.constantFrom('0', '1', '9', 'x', 'X', '\u00d7', ' ', '.', '-', '+', 'e', '\uff11');
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 8 }), (list) => {
        const text = list.join('');
        expect(parsePixelSize(text) !== undefined).toBe(/^[1-9][0-9]*x[1-9][0-9]*$/.test(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['', 'auto', '1024', '1024X1024', '1024x', '-16x16', '016x1024', '1024x1024 ', '1e3x1000', '1024.0x1024'])(
    'does not read "%s" as pixels',
    (text) => {
      expect(parsePixelSize(text)).toBeUndefined();
    },
  );
});
