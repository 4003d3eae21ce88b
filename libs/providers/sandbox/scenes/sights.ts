import { darker, mix } from '../drawing/color.js';
import type { Palette } from '../drawing/palette.js';
import { circle, ellipse, line, path, rectangle, stop } from '../drawing/svg.js';

// Each sight stands on 0, 0; a balloon and a rocket float around it.

/** A round tree. */
export function tree({ accents, near }: Palette): string {
  const crown = mix(accents[0], near, 0.25);
  return [
    rectangle(-5, -75, 10, 80, near),
    circle(0, -102, 45, crown),
    circle(-31, -78, 30, crown),
    circle(31, -82, 31, crown),
    circle(-11, -114, 22, '#ffffff', 0.1),
  ].join('');
}

/** A small house with lit windows. */
export function house({ accents, far }: Palette): string {
  const [roof, light, , wall] = accents;
  return [
    rectangle(22, -108, 13, 40, darker(roof, 0.35)),
    rectangle(-50, -54, 100, 66, mix(wall, far, 0.25)),
    path('M-62-52L0-104L62-52Z', roof),
    rectangle(-11, -32, 22, 44, darker(roof, 0.45)),
    rectangle(-38, -34, 18, 18, light),
    rectangle(20, -34, 18, 18, light),
  ].join('');
}

/** A hot air balloon. */
export function balloon({ accents, near }: Palette): string {
  const envelope = 'M0-100C135-100 120 45 22 115H-22C-120 45-135-100 0-100Z';
  return [
    path(envelope, accents[0]),
    `<g transform="scale(0.62 1)">${path(envelope, accents[1])}</g>`,
    `<g transform="scale(0.24 1)">${path(envelope, accents[0])}</g>`,
    path('M-16 134H16V158H-16ZM-15 112H-12V136H-15ZM12 112H15V136H12Z', near),
    circle(-35, -40, 22, '#ffffff', 0.16),
  ].join('');
}

/** A standing deer. */
export function deer({ accents, near }: Palette): string {
  const coat = darker(mix(accents[0], near, 0.5), 0.15);
  const legs = 'M-44-78h7v80h-7ZM-32-78h7v80h-7ZM34-78h7v80h-7ZM46-78h7v80h-7Z';
  const body =
    'M-52-92Q-58-128-20-128H28Q44-140 52-186Q58-204 74-200L100-184Q100-176 90-174L74-170Q70-130 56-92Q40-66 24-76Q-10-68-30-70Q-50-70-52-92Z';
  const antlers = 'M62-200Q50-232 62-262M56-226L40-244M68-200Q84-226 82-258M80-232L98-246';
  return path(legs, coat) + path(body, coat) + line(antlers, coat, 6);
}

/** A sailing boat. */
export function boat({ accents, near }: Palette): string {
  const hull = darker(near, 0.1);
  return [
    rectangle(-3, -215, 6, 190, hull),
    path('M8-210Q105-110 100-38H8Z', accents[3]),
    path('M-8-185Q-78-100-80-38H-8Z', accents[0]),
    path('M-112-28H122Q95 24 50 26H-62Q-98 18-112-28Z', hull),
    rectangle(-106, -20, 222, 5, accents[1], 0.9),
    ellipse(0, 34, 150, 7, near, 0.35),
  ].join('');
}

/** A lighthouse on a rock that shines to the right. */
export function lighthouse({ accents, near, light }: Palette): string {
  const bands = [0, 1, 2, 3, 4].map((index) => {
    const half = 40 - index * 3.4;
    const top = half - 3.4;
    const outline = `M${-half} ${-index * 66}H${half}L${top} ${-index * 66 - 66}H${-top}Z`;
    return path(outline, index % 2 === 0 ? accents[3] : accents[0]);
  });
  return [
    `<defs><linearGradient id="beam">${stop(0, light, 0.6)}${stop(1, light, 0)}</linearGradient></defs>`,
    path('M0-360L720-495V-297Z', 'url(#beam)'),
    path('M-190 50Q-120-35 0-30T210 50Z', darker(near, 0.15)),
    ...bands,
    rectangle(-31, -339, 62, 11, near),
    rectangle(-17, -376, 34, 38, light),
    circle(0, -356, 52, 'url(#glow)'),
    path('M-25-374Q0-422 25-374Z', accents[0]),
  ].join('');
}

/** A rocket in flight. */
export function rocket({ accents, sky }: Palette): string {
  return [
    path('M-30 88Q-33 148 0 238Q33 148 30 88Z', accents[0]),
    path('M-18 88Q-20 126 0 184Q20 126 18 88Z', accents[1]),
    path('M-42 40Q-92 70-84 118L-34 88ZM42 40Q92 70 84 118L34 88Z', accents[0]),
    path('M0-150C56-92 62 20 36 90H-36C-62 20-56-92 0-150Z', '#f6f3ee'),
    path('M0-150C56-92 62 20 36 90H0Z', '#000020', 0.12),
    path('M0-150C24-126 38-100 44-76H-44C-38-100-24-126 0-150Z', accents[0]),
    circle(0, -20, 27, accents[1]),
    circle(0, -20, 19, mix(sky[0], '#6ec6ff', 0.5)),
  ].join('');
}
