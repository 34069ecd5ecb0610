-- Compares RTE's carbon intensity of France with its mix, by RTE's factors in gCO2/kWh. Pumped storage counts while it
-- generates. Daily means may differ by 1 g; rounding explains up to 0.6 g. Consolidated days are skipped, because their
-- mix lacks wind.
WITH factors(fuel, grams) AS (
    VALUES ('coal', 986), ('oil', 777), ('gas', 429), ('biomass', 494), ('waste', 494)
),
computed AS (
    SELECT zone, ts, resolution, sum(greatest(value, 0) * coalesce(grams, 0)) / sum(greatest(value, 0)) AS grams
    FROM mix LEFT JOIN factors USING (fuel)
    WHERE zone = 'FR' AND fuel <> 'battery'
    GROUP BY ALL
    HAVING bool_or(fuel LIKE 'wind%') AND sum(greatest(value, 0)) > 0
)
SELECT
    zone, timezone(tz, starts_at)::DATE AS day,
    format('{:.1f} gCO2/kWh, where the mix gives {:.1f}', avg(value), avg(grams)) AS detail
FROM carbon JOIN computed USING (zone, ts, resolution) JOIN zones USING (zone)
GROUP BY ALL
HAVING abs(avg(value) - avg(grams)) > 1
