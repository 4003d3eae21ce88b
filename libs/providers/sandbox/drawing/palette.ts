import type { Random } from './random.js';

/** The colors of one image, all `#rrggbb`. */
export interface Palette {
  /** From the top of the sky to the horizon. */
  readonly sky: readonly [string, string, string];
  /** Sun, moon, lamps. */
  readonly light: string;
  /** The farthest and the nearest ground; those between are mixed. */
  readonly far: string;
  readonly near: string;
  readonly accents: readonly [string, string, string, string];
  readonly isDark: boolean;
  /** The color that the prompt names; also the first accent. */
  readonly named?: string;
}

export type Mood = keyof typeof PALETTES;

const PALETTES = {
  sunset: {
    sky: ['#46205e', '#d4506a', '#ffbd59'],
    light: '#fff3cf',
    far: '#b5547a',
    near: '#1f1033',
    accents: ['#ff7b54', '#ffd56f', '#8e3b71', '#f6e7cb'],
    isDark: false,
  },
  dawn: {
    sky: ['#4a5a92', '#d78a99', '#ffe0c2'],
    light: '#fff6e0',
    far: '#a58aa8',
    near: '#2c2545',
    accents: ['#e56b6f', '#f2b98f', '#5f6f9f', '#fbe9dc'],
    isDark: false,
  },
  day: {
    sky: ['#3d8fd4', '#8fcbf0', '#eff8fb'],
    light: '#fff8d6',
    far: '#9cc4cf',
    near: '#17463f',
    accents: ['#ee964b', '#f4d35e', '#2f7f79', '#fdf6e3'],
    isDark: false,
  },
  night: {
    sky: ['#060a22', '#16265a', '#4b5fa8'],
    light: '#fbf3d5',
    far: '#3a4a8c',
    near: '#050817',
    accents: ['#ffc857', '#7fd8d4', '#b892ff', '#e8ecff'],
    isDark: true,
  },
  autumn: {
    sky: ['#7a4b5a', '#e0955f', '#fbe6bd'],
    light: '#fff5d8',
    far: '#cf9563',
    near: '#38191a',
    accents: ['#c8452f', '#f2a33b', '#7d8f4e', '#fbeacb'],
    isDark: false,
  },
  winter: {
    sky: ['#5b7fae', '#b3cfe4', '#f6f9fb'],
    light: '#ffffff',
    far: '#bccfdf',
    near: '#27415f',
    accents: ['#d1495b', '#8fb8de', '#3d6b8e', '#f7fafc'],
    isDark: false,
  },
  spring: {
    sky: ['#73c2c6', '#c6e9d6', '#fff6dd'],
    light: '#fffbe6',
    far: '#a7d3ac',
    near: '#23583f',
    accents: ['#f2728c', '#ffc15e', '#3f9c7a', '#fff0f0'],
    isDark: false,
  },
  desert: {
    sky: ['#2f6f8f', '#e9b384', '#fde8c8'],
    light: '#fff7dd',
    far: '#e0a878',
    near: '#6b2d1f',
    accents: ['#c8553d', '#f0a868', '#2f7f79', '#fbe9d0'],
    isDark: false,
  },
  ocean: {
    sky: ['#1b6ca8', '#6ec6d9', '#fdf1d3'],
    light: '#fffbe8',
    far: '#2f93ad',
    near: '#062d49',
    accents: ['#ff6f59', '#ffd166', '#16a3a3', '#f4fbfb'],
    isDark: false,
  },
  neon: {
    sky: ['#0d0529', '#3d1170', '#d3328f'],
    light: '#ffd9f5',
    far: '#5a2a94',
    near: '#0a031d',
    accents: ['#ff4fa3', '#20e3d2', '#fee440', '#e5d4ff'],
    isDark: true,
  },
  pastel: {
    sky: ['#bfa8d8', '#ffc6da', '#fff3e4'],
    light: '#ffffff',
    far: '#c9bfe6',
    near: '#5f5690',
    accents: ['#f58fb0', '#8ec5f4', '#ffd08a', '#fdf7ff'],
    isDark: false,
  },
  storm: {
    sky: ['#232a38', '#55657a', '#b9c2c4'],
    light: '#eef2ea',
    far: '#76858f',
    near: '#12181f',
    accents: ['#e0a458', '#7fa6b8', '#a34e4e', '#e9eded'],
    isDark: true,
  },
} as const satisfies Record<string, Palette>;

const COLORS: Readonly<Record<string, string>> = {
  red: '#d7263d',
  orange: '#f3722c',
  yellow: '#f9c74f',
  gold: '#e0a526',
  green: '#3a9d5d',
  teal: '#16a3a3',
  blue: '#2f74d0',
  purple: '#7b4fc9',
  violet: '#8256d0',
  pink: '#f17fa9',
  brown: '#8a5a3b',
  white: '#f5f1ea',
  black: '#24222b',
  grey: '#8d949c',
  gray: '#8d949c',
  silver: '#b9c0c7',
  红: '#d7263d',
  蓝: '#2f74d0',
  绿: '#3a9d5d',
  黄: '#f9c74f',
  白: '#f5f1ea',
  黑: '#24222b',
};

const CALM: readonly [Mood, ...Mood[]] = ['sunset', 'dawn', 'day', 'spring', 'autumn', 'pastel', 'ocean'];

/** The palette for a mood; a color named in the prompt becomes the first accent. */
export function paletteFor(mood: Mood | undefined, words: ReadonlySet<string>, random: Random): Palette {
  const palette = PALETTES[mood ?? random.pick(CALM)];
  const named = Object.keys(COLORS).find((word) => words.has(word));
  const [first, second, third, fourth] = palette.accents;
  const color = named === undefined ? undefined : COLORS[named];
  if (color === undefined) return palette;
  return { ...palette, named: color, accents: [color, first === color ? second : first, third, fourth] };
}
