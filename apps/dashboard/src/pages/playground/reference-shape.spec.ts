import { shapeOf, sizeLike } from './reference-shape.ts';

const PIXELS = { generations: true, min_edge: 64, max_edge: 3840, max_ratio: 3, max_pixels: 8_294_400 };
const sizes = ['auto', '1:1', '3:2', '16:9'];

describe('the size of an image like its reference', () => {
  it.each([
    [{ width: 777, height: 777 }, '1k', '1:1'],
    [{ width: 2048, height: 1360 }, '2k', '3:2'],
    [{ width: 900, height: 1200 }, '1k', '880x1168'],
    [{ width: 3000, height: 1000 }, '4k', '3840x1280'],
    [{ width: 2101, height: 2000 }, '4k', '2944x2800'],
    [{ width: 2990, height: 1000 }, '1k', '1760x592'],
  ])('is a ratio of the model where that fits, else pixels: %j at %s', (reference, resolution, size) => {
    expect(sizeLike(reference, { sizes, pixel_sizes: PIXELS }, resolution)).toEqual({ size, isNearest: false });
  });

  it('is the nearest ratio where the model takes no such pixels', () => {
    expect(sizeLike({ width: 900, height: 1200 }, { sizes }, '1k')).toEqual({ size: '1:1', isNearest: true });
    const flat = sizeLike({ width: 4000, height: 1000 }, { sizes, pixel_sizes: PIXELS }, '1k');
    expect(flat).toEqual({ size: '16:9', isNearest: true });
    expect(sizeLike({ width: 4, height: 3 }, { sizes: ['auto'] }, '1k')).toEqual({ size: 'auto', isNearest: false });
  });
});

describe('a size in pixels, as the form has it', () => {
  it.each([
    ['1024x1024', '1:1', '1k'],
    ['1536x1024', '3:2', '1k'],
    ['1792x1024', '16:9', '1k'],
    ['2048x1152', '16:9', '2k'],
    ['3840x2160', '16:9', '4k'],
  ])('is the nearest ratio and tier: %s', (pixels, size, resolution) => {
    expect(shapeOf(pixels, sizes)).toEqual({ size, resolution });
  });

  it.each(['16:9', 'auto'])('is not what %s is', (size) => {
    expect(shapeOf(size, sizes)).toBeUndefined();
  });
});
