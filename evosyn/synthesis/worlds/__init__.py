"""What makes tool worlds, and what is measured of their testings; the recipe is `recipes.made_worlds`."""
