import type { Scene } from '../drawing/canvas.js';
import type { SceneName } from '../drawing/subject.js';
import { animal } from './animal.js';
import { city } from './city.js';
import { flowers } from './flowers.js';
import { forest } from './forest.js';
import { landscape } from './landscape.js';
import { ribbons } from './ribbons.js';
import { sea } from './sea.js';
import { shapes } from './shapes.js';
import { space } from './space.js';
import { stillLife } from './still-life.js';

/** Every scene that the sandbox can draw. */
export const SCENES: Readonly<Record<SceneName, Scene>> = {
  landscape,
  sea,
  forest,
  city,
  animal,
  space,
  flowers,
  'still-life': stillLife,
  shapes,
  ribbons,
};

/** Scenes for prompts without a known word. */
export const UNNAMED: readonly [SceneName, ...SceneName[]] = ['ribbons', 'shapes', 'landscape'];
